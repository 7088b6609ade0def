// One slice of a case: its outlines and maps, each made when first asked for.
import { changesAtEdges, findEdges, outlineChains, thresholdChains } from "./contours.js";
import { layerColours, paintBetween, paintPatterns } from "./layers.js";

export class SliceScene {
  constructor(view, slice) {
    const [, rows, columns] = view.shape;
    const size = rows * columns;
    this.view = view;
    this.grid = { columns, rows, aspect: view.aspect };
    this.items = (map) => view.maps[map].subarray(slice * size, (slice + 1) * size);
    this.changes = new Map();
    this.alone = new Map();
  }

  // Outlines of these columns, for a label's code or, with null, for any label.
  outlines(columns, label) {
    this.edges ??= findEdges(this.items(0), this.grid.columns, this.grid.rows);
    if (!this.changes.has(label)) this.changes.set(label, changesAtEdges(this.edges, this.view.patterns, label));
    return outlineChains(this.grid, this.edges, this.changes.get(label), columns);
  }

  outlineAlone(column, label) {
    const key = `${column} ${label}`;
    if (!this.alone.has(key)) this.alone.set(key, this.outlines([column], label));
    return this.alone.get(key);
  }

  heat(layer, threshold) {
    return paintPatterns(this.items(layer.map), this.grid, layerColours(layer, threshold));
  }

  between(layer) {
    return layer.kind === "region" ? paintBetween(layer, this.items(layer.map), this.grid) : null;
  }

  threshold(layer, threshold) {
    if (layer.kind !== "probability") return null;
    return thresholdChains(this.grid, this.items(layer.map), layer.values, threshold);
  }
}
