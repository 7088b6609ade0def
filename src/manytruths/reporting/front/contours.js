// Outlines along the edges of pixels, exact, for any choice of columns.
//
// Only the pattern of a pixel is known, so an edge is a pair of neighbouring patterns, and who changes there is looked
// up once a pair. Edges at which the same columns change are joined to chains: their dashes then run on round corners.

export const NOT_RATED = 255;

// Every edge between two different items. An edge starts at a corner of the grid and runs right or down; corners are
// numbered along rows, with one spare row above, so that looking up from the first row stays inside.
export function findEdges(items, columns, rows) {
  const count = countEdges(items, columns, rows);
  const edges = { corner: new Int32Array(count), down: new Uint8Array(count), pair: new Int32Array(count) };
  const pairs = new NumberedPairs(count);
  let filled = 0;
  for (let row = 0, item = 0; row < rows; row++) {
    const [lastColumn, below] = [item + columns - 1, row + 1 < rows];
    for (; item <= lastColumn; item++) {
      const here = items[item];
      const corner = item + row + columns + 1;
      if (item < lastColumn && items[item + 1] !== here) {
        edges.pair[filled] = pairs.either(here, items[item + 1]);
        edges.down[filled] = 1;
        edges.corner[filled++] = corner + 1;
      }
      if (below && items[item + columns] !== here) {
        edges.pair[filled] = pairs.either(here, items[item + columns]);
        edges.corner[filled++] = corner + columns + 1;
      }
    }
  }
  return { ...edges, pairs };
}

function countEdges(items, columns, rows) {
  let count = 0;
  for (let row = 0, item = 0; row < rows; row++) {
    const lastColumn = item + columns - 1;
    for (; item < lastColumn; item++) if (items[item + 1] !== items[item]) count++;
    item++;
  }
  for (let item = columns; item < rows * columns; item++) if (items[item] !== items[item - columns]) count++;
  return count;
}

// Numbers pairs of whole numbers in the order they come. A Map takes several times as long.
class NumberedPairs {
  constructor(most) {
    const size = 2 ** Math.max(4, Math.ceil(Math.log2(2 * most + 1)));
    Object.assign(this, { count: 0, mask: size - 1, table: new Int32Array(size) });
    this.first = new Int32Array(most + 1);
    this.second = new Int32Array(most + 1);
  }

  either(one, other) {
    return one < other ? this.number(one, other) : this.number(other, one);
  }

  number(one, other) {
    const { table, mask, first, second } = this;
    let place = (Math.imul(one, 0x9e3779b1) ^ Math.imul(other, 0x85ebca6b)) >>> 0;
    place = (place ^ (place >>> 15)) & mask;
    while (table[place] !== 0) {
      const known = table[place] - 1;
      if (first[known] === one && second[known] === other) return known;
      place = (place + 1) & mask;
    }
    first[this.count] = one;
    second[this.count] = other;
    table[place] = ++this.count;
    return this.count - 1;
  }
}

// Sets of columns are kept as bits, 32 columns a word. Words are numbered one after another: set and word → set.
const COLUMNS_A_WORD = 32;

// Which columns change at each edge: ofEdge says which set, words[word][set] are its bits; set 0 is nobody.
export function changesAtEdges(edges, patterns, label) {
  const { first, second, count } = edges.pairs;
  const words = [];
  for (let column = 0; column < patterns.length; column += COLUMNS_A_WORD) {
    const { marked, rated } = patternBits(patterns.slice(column, column + COLUMNS_A_WORD), label);
    const word = new Int32Array(count);
    for (let pair = 0; pair < count; pair++) {
      const [one, other] = [first[pair], second[pair]];
      word[pair] = (marked[one] ^ marked[other]) & rated[one] & rated[other];
    }
    words.push(word);
  }
  const { sets, of } = numberedSets(words, count);
  return { words: sets, ofEdge: edges.pair.map((pair) => of[pair]) };
}

function patternBits(patterns, label) {
  const marked = new Int32Array(patterns[0].length);
  const rated = new Int32Array(patterns[0].length);
  patterns.forEach((codes, place) => {
    for (let pattern = 0; pattern < codes.length; pattern++) {
      const code = codes[pattern];
      if (code === NOT_RATED) continue;
      rated[pattern] |= 1 << place;
      if (label === null ? code > 0 : code === label) marked[pattern] |= 1 << place;
    }
  });
  return { marked, rated };
}

// The different ones among `count` sets given by their words, nobody first, and which of them each is.
function numberedSets(words, count) {
  const of = new Int32Array(count);
  const tables = words.map(() => new NumberedPairs(count + 1));
  for (const table of tables) table.number(0, 0);
  for (let entry = 0; entry < count; entry++) {
    let number = 0;
    for (let word = 0; word < words.length; word++) number = tables[word].number(number, words[word][entry]);
    of[entry] = number;
  }
  const last = tables.at(-1);
  const sets = words.map(() => new Int32Array(last.count));
  for (let entry = 0; entry < count; entry++) words.forEach((word, place) => (sets[place][of[entry]] = word[entry]));
  return { sets, of };
}

// Chains of the visible columns' outlines: chain c turns at corners[starts[c]] up to corners[starts[c + 1]] and belongs
// to the columns sets[of[c]].
export function outlineChains(grid, edges, changes, visible) {
  const { sets, ofSet } = visibleSets(changes.words, visible);
  const field = fieldOfEdges(grid, edges, changes.ofEdge, ofSet);
  const track = { corners: new Int32Array(2 * edges.corner.length + 1), length: 0 };
  const [starts, of] = [[0], []];
  for (let edge = 0; edge < edges.corner.length; edge++) {
    const down = edges.down[edge];
    const set = (down ? field.down : field.right)[edges.corner[edge]];
    if (set === 0) continue;
    followChain(field, edges.corner[edge], down ? DOWN : RIGHT, set, track);
    starts.push(track.length);
    of.push(set);
  }
  return { width: grid.columns + 1, corners: track.corners.slice(0, track.length), starts, of, sets };
}

// The outline of the items whose pattern has at least this value.
export function thresholdChains(grid, items, values, threshold) {
  const above = Uint8Array.from(values, (value) => (value !== null && value >= threshold ? 1 : 0));
  const mask = new Uint8Array(items.length);
  for (let item = 0; item < items.length; item++) mask[item] = above[items[item]];
  const edges = findEdges(mask, grid.columns, grid.rows);
  return outlineChains(grid, edges, changesAtEdges(edges, [[0, 1]], null), [0]);
}

function visibleSets(words, visible) {
  const seen = words.map((word, place) => {
    const from = place * COLUMNS_A_WORD;
    const mine = visible.filter((column) => column >= from && column < from + COLUMNS_A_WORD);
    const bits = mine.reduce((sum, column) => sum | (1 << (column - from)), 0);
    return word.map((set) => set & bits);
  });
  const { sets, of } = numberedSets(seen, words[0].length);
  return { ofSet: of, sets: Array.from(sets[0], (_, set) => visible.filter((column) => hasColumn(sets, set, column))) };
}

function hasColumn(words, set, column) {
  return (words[Math.floor(column / COLUMNS_A_WORD)][set] >> column % COLUMNS_A_WORD) & 1;
}

const [RIGHT, DOWN, LEFT] = [0, 1, 2];
let spareField = null;

// Following chains empties the field again, so that it can be taken once more.
function fieldOfEdges({ columns, rows }, edges, ofEdge, ofSet) {
  const width = columns + 1;
  const size = width * (rows + 2);
  if (spareField?.right.length !== size || spareField.width !== width) {
    spareField = { width, right: new Int32Array(size), down: new Int32Array(size) };
  }
  const { right, down } = spareField;
  for (let edge = 0; edge < ofEdge.length; edge++) {
    (edges.down[edge] ? down : right)[edges.corner[edge]] = ofSet[ofEdge[edge]];
  }
  return spareField;
}

// From an edge of the chain to one of its ends, turned round, and then to the other.
function followChain(field, corner, heading, set, track) {
  const start = track.length;
  walkChain(field, corner, heading, set, track);
  turnRound(track.corners, start, track.length - 1);
  track.corners[track.length++] = corner;
  const back = (heading + 2) % 4;
  const away = wayOn(field, corner, back, set);
  if (away >= 0) walkChain(field, corner, away, set, track);
}

function turnRound(corners, start, end) {
  for (let [low, high] = [start, end]; low < high; low++, high--) {
    const corner = corners[low];
    corners[low] = corners[high];
    corners[high] = corner;
  }
}

function walkChain(field, start, startHeading, set, track) {
  let corner = start;
  for (let heading = startHeading; heading >= 0; heading = wayOn(field, corner, heading, set)) {
    do corner = takeEdge(field, corner, heading);
    while (edgeTowards(field, corner, heading) === set);
    track.corners[track.length++] = corner;
  }
}

function wayOn(field, corner, heading, set) {
  if (edgeTowards(field, corner, heading) === set) return heading;
  if (edgeTowards(field, corner, (heading + 1) % 4) === set) return (heading + 1) % 4;
  return edgeTowards(field, corner, (heading + 3) % 4) === set ? (heading + 3) % 4 : -1;
}

function edgeTowards(field, corner, heading) {
  if (heading === RIGHT) return field.right[corner];
  if (heading === DOWN) return field.down[corner];
  return heading === LEFT ? field.right[corner - 1] : field.down[corner - field.width];
}

function takeEdge(field, corner, heading) {
  const along = heading === RIGHT || heading === LEFT;
  const length = along ? 1 : field.width;
  const end = heading === RIGHT || heading === DOWN ? corner + length : corner - length;
  (along ? field.right : field.down)[Math.min(corner, end)] = 0;
  return end;
}
