// What the pointer, or the cursor of the keyboard, does on a pane: brush, eraser, polygon and ruler.

const CLOSE_PIXELS = 9;

export class PaneTools {
  constructor(session, stage) {
    Object.assign(this, { session, stage, from: null });
  }

  tool() {
    const { tool, step } = this.session;
    const drawing = ["brush", "eraser", "polygon"].includes(tool);
    return drawing && step !== "draw" ? "pan" : tool;
  }

  start(pane, point) {
    const tool = this.tool();
    if (tool === "ruler") this.stage.change({ ruler: { pane, slice: pane.slice(this.stage.scene), from: point, to: point } });
    else if (!pane.main) return;
    else if (tool === "polygon") this.addCorner(pane, point);
    else this.startStroke(pane, point, tool === "eraser");
  }

  startStroke(pane, point, erase) {
    const { drawing, drawnLabel } = this.session;
    drawing.begin(pane.plane, pane.slice(this.stage.scene), erase ? 0 : drawnLabel);
    this.from = point;
    this.move(pane, point);
  }

  move(pane, point) {
    const { session, stage } = this;
    if (this.tool() === "ruler" && stage.scene.ruler) stage.change({ ruler: { ...stage.scene.ruler, to: point } });
    else if (this.from) {
      session.drawing.brush(this.from, point, session.brushRadius);
      this.from = point;
      stage.request();
    }
  }

  end() {
    const { ruler } = this.stage.scene;
    if (ruler && ruler.from.column === ruler.to.column && ruler.from.row === ruler.to.row) this.stage.change({ ruler: null });
    if (!this.from) return;
    this.from = null;
    this.session.drawing.finish();
    this.session.drew();
  }

  cancel() {
    if (!this.from) return;
    this.from = null;
    if (this.session.drawing.finish()) this.session.strokes(-1);
  }

  hover(pane, point) {
    const { session, stage } = this;
    const tool = this.tool();
    const shown = point && pane.main && (tool === "brush" || tool === "eraser");
    stage.change({ brush: shown ? { at: point, radius: session.brushRadius, erase: tool === "eraser" } : null });
  }

  tap(pane, point) {
    if (this.stage.scene.item.volume) this.stage.pointAt(pane, point);
  }

  twice(pane, { x, y }) {
    if (this.tool() === "pan" || this.tool() === "window") this.stage.zoomBy(2, pane, x, y);
  }

  // --- polygon

  // The first corner, taken again, closes it.
  addCorner(pane, point) {
    const { scene } = this.stage;
    const corners = scene.polygon ?? [];
    const placing = pane.placing(scene);
    const near = (one, other) => Math.hypot((one.column - other.column) * placing.across, (one.row - other.row) * placing.down) < CLOSE_PIXELS;
    if (corners.length > 2 && near(corners[0], point)) this.closePolygon(pane);
    else if (!corners.length || !near(corners.at(-1), point)) this.stage.change({ polygon: [...corners, point] });
  }

  closePolygon(pane = this.stage.main) {
    const { session, stage } = this;
    const corners = stage.scene.polygon ?? [];
    stage.change({ polygon: null });
    if (corners.length < 3) return;
    session.drawing.begin(pane.plane, pane.slice(stage.scene), session.drawnLabel);
    session.drawing.polygon(corners);
    session.drawing.finish();
    session.drew();
  }

  // --- without a pointer

  moveCursor([right, down]) {
    const { scene, main } = this.stage;
    if (!scene.item) return;
    const { centre } = scene.item;
    const { plane } = main;
    const at = scene.cursor ?? { column: centre[plane.columns] + 0.5, row: centre[plane.rows] + 0.5 };
    const turn = (flipped) => (flipped ? -1 : 1);
    const cursor = { column: at.column + right * turn(plane.flipColumns), row: at.row + down * turn(plane.flipRows) };
    this.stage.change({ cursor, ruler: scene.ruler?.open ? { ...scene.ruler, to: cursor } : scene.ruler });
    this.hover(main, cursor);
  }

  // The tool at the cursor.
  touch() {
    const { stage, session } = this;
    const { scene, main } = stage;
    if (!scene.cursor) this.moveCursor([0, 0]);
    const { cursor } = scene;
    const tool = this.tool();
    if (tool === "ruler") {
      const open = !scene.ruler?.open;
      stage.change({ ruler: open ? { pane: main, slice: main.slice(scene), from: cursor, to: cursor, open } : { ...scene.ruler, to: cursor, open: false } });
    } else if (tool === "polygon") {
      this.addCorner(main, cursor);
    } else if (tool === "brush" || tool === "eraser") {
      this.startStroke(main, cursor, tool === "eraser");
      this.end();
    } else {
      return session.tell("");
    }
  }
}
