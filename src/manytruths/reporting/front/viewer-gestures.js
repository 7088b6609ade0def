// Pointer, wheel and fingers on the stage.

const TAP_PIXELS = 6;

// `tell` has hover(item), tap(item) and slice(steps); zoom and pan go straight to the stage.
export function watchGestures(stage, tell) {
  const { canvas } = stage;
  const pointers = new Map();
  let travelled = 0;

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    if (!pointers.size) travelled = 0;
    capturePointer(canvas, event.pointerId);
    pointers.set(event.pointerId, pointOf(event));
    canvas.classList.add("grabbed");
  });

  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) {
      tell.hover(stage.itemAt(event.clientX, event.clientY));
      return;
    }
    const now = pointOf(event);
    const others = [...pointers.entries()].filter(([id]) => id !== event.pointerId);
    travelled += Math.hypot(now.x - before.x, now.y - before.y);
    pointers.set(event.pointerId, now);
    if (others.length) pinch(stage, before, now, others[0][1]);
    else if (travelled > TAP_PIXELS) stage.panBy(now.x - before.x, now.y - before.y);
  });

  const release = (event) => {
    if (!pointers.delete(event.pointerId) || pointers.size) return;
    canvas.classList.remove("grabbed");
    if (event.type === "pointerup" && travelled <= TAP_PIXELS) tell.tap(stage.itemAt(event.clientX, event.clientY));
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse" && !pointers.size) tell.hover(null);
  });
  canvas.addEventListener("dblclick", (event) => zoomAt(stage, 2, event));
  canvas.addEventListener("wheel", (event) => turnWheel(stage, tell, event), { passive: false });
}

function pointOf(event) {
  return { x: event.clientX, y: event.clientY };
}

// A pointer that is gone already, or one made by a test, cannot be captured; the gesture works without.
function capturePointer(canvas, pointer) {
  try {
    canvas.setPointerCapture(pointer);
  } catch {
    return;
  }
}

function pinch(stage, before, now, other) {
  const spread = (point) => Math.max(1, Math.hypot(point.x - other.x, point.y - other.y));
  const middle = (point) => ({ clientX: (point.x + other.x) / 2, clientY: (point.y + other.y) / 2 });
  stage.panBy((now.x - before.x) / 2, (now.y - before.y) / 2);
  zoomAt(stage, spread(now) / spread(before), middle(now));
}

function zoomAt(stage, factor, { clientX, clientY }) {
  const box = stage.canvas.getBoundingClientRect();
  stage.zoomBy(factor, clientX - box.left, clientY - box.top);
}

// A wheel with shift turns slices; some systems make its movement sideways then.
function turnWheel(stage, tell, event) {
  event.preventDefault();
  const unit = [1, 16, 400][event.deltaMode];
  const turned = (event.deltaY || event.deltaX) * unit;
  if (event.shiftKey) tell.slice(Math.sign(turned));
  else zoomAt(stage, Math.exp(-Math.min(Math.max(turned, -240), 240) * 0.002), event);
}
