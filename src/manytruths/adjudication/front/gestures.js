// Pointer, wheel and fingers on the panes. One finger or the left button does what the tool says; two fingers always zoom
// and pan, the right button always sets the window.

const TAP_PIXELS = 5;

// `tools` has tool(), start(pane, point), move(pane, point), end(pane), cancel(), hover(pane, point) and tap(pane, point).
export function watchPane(stage, pane, tools) {
  const { canvas } = pane;
  const pointers = new Map();
  let doing = null;
  let travelled = 0;

  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const inBlock = ({ x, y }) => pane.toBlock(stage.scene, x, y);

  canvas.addEventListener("contextmenu", (event) => event.preventDefault());

  canvas.addEventListener("pointerdown", (event) => {
    if (!stage.scene.item) return;
    hold(canvas, event.pointerId);
    pointers.set(event.pointerId, at(event));
    if (pointers.size === 2) {
      if (doing === "tool") tools.cancel();
      doing = "pinch";
      return;
    }
    travelled = 0;
    doing = event.button === 2 ? "window" : event.button === 1 || tools.tool() === "pan" ? "pan" : tools.tool() === "window" ? "window" : "tool";
    if (doing === "tool") tools.start(pane, inBlock(at(event)));
  });

  canvas.addEventListener("pointermove", (event) => {
    const now = at(event);
    const before = pointers.get(event.pointerId);
    if (stage.scene.item) tools.hover(pane, inBlock(now));
    if (!before) return;
    pointers.set(event.pointerId, now);
    travelled += Math.hypot(now.x - before.x, now.y - before.y);
    if (doing === "pinch") {
      const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
      if (other) pinch(stage, pane, before, now, other);
    } else if (doing === "window") {
      stage.dragWindow(now.x - before.x, now.y - before.y, pane.series);
    } else if (doing === "pan") {
      if (travelled > TAP_PIXELS) stage.panBy(pane, now.x - before.x, now.y - before.y);
    } else if (doing === "tool") {
      for (const each of event.getCoalescedEvents?.() ?? []) tools.move(pane, inBlock(at(each)));
      tools.move(pane, inBlock(now));
    }
  });

  const release = (event) => {
    if (!pointers.delete(event.pointerId)) return;
    if (doing === "tool") tools.end(pane);
    else if (doing === "pan" && travelled <= TAP_PIXELS && event.type === "pointerup") tools.tap(pane, inBlock(at(event)));
    doing = pointers.size ? "pinch" : null;
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => {
    if (!pointers.size) tools.hover(pane, null);
  });
  canvas.addEventListener("dblclick", (event) => tools.twice(pane, at(event)));
  canvas.addEventListener("wheel", (event) => turnWheel(stage, pane, event, at(event)), { passive: false });
}

// A pointer that is gone already, or one made by a test, cannot be held; the gesture works without.
function hold(canvas, pointer) {
  try {
    canvas.setPointerCapture(pointer);
  } catch {
    return;
  }
}

function pinch(stage, pane, before, now, other) {
  const spread = (point) => Math.max(1, Math.hypot(point.x - other.x, point.y - other.y));
  stage.panBy(pane, (now.x - before.x) / 2, (now.y - before.y) / 2);
  stage.zoomBy(spread(now) / spread(before), pane, (now.x + other.x) / 2, (now.y + other.y) / 2);
}

let wheelTurned = 0;

// In volumes the wheel turns slices, as where images are read; with Ctrl, or in flat images, it zooms.
function turnWheel(stage, pane, event, { x, y }) {
  event.preventDefault();
  if (!stage.scene.item) return;
  const turned = (event.deltaY || event.deltaX) * [1, 16, 400][event.deltaMode];
  if (stage.scene.item.shape[pane.plane.across] > 1 && !event.ctrlKey) {
    wheelTurned += turned;
    const steps = Math.trunc(wheelTurned / 40);
    wheelTurned -= steps * 40;
    if (steps) stage.sliceBy(Math.sign(steps) * Math.min(3, Math.abs(steps)), pane);
    return;
  }
  stage.zoomBy(Math.exp(-Math.min(Math.max(turned, -240), 240) * 0.002), pane, x, y);
}
