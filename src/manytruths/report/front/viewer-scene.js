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

// The slice on which most items were marked by somebody.
export function fullestSlice(view) {
  const [slices, rows, columns] = view.shape;
  if (slices === 1) return 0;
  const marked = markedPatterns(view);
  const counts = new Array(slices).fill(0);
  view.maps[0].forEach((pattern, item) => {
    counts[Math.floor(item / (rows * columns))] += marked[pattern];
  });
  return counts.indexOf(Math.max(...counts));
}

function markedPatterns(view) {
  const votes = view.layers.find((layer) => layer.name === "votes" && layer.map === 0);
  if (votes) return Uint8Array.from(votes.values, (value) => (value > 0 ? 1 : 0));
  const raters = view.patterns.filter((_, column) => view.columns[column].role === "rater");
  return Uint8Array.from(view.patterns[0], (_, pattern) => {
    return raters.some((codes) => codes[pattern] > 0 && codes[pattern] < 255) ? 1 : 0;
  });
}
