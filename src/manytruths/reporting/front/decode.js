// The view of a case as it is stored → arrays that can be looked up, and pictures.

const MAP_ARRAYS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };

// The first map alone holds all outlines, so that a case opens with it; decodeOtherMaps brings the others.
export async function decodeView(stored) {
  const [first, patterns] = await Promise.all([decodeMap(stored.maps[0], stored.shape), decodePatterns(stored)]);
  return { ...stored, stored: stored.maps, maps: [first], patterns };
}

// One array of label codes a column.
async function decodePatterns({ patterns, columns }) {
  const codes = await unpack(patterns);
  const count = codes.length / columns.length;
  undoRowDifferences(codes, 1, columns.length, count);
  return columns.map((_, column) => codes.subarray(column * count, (column + 1) * count));
}

export async function decodeOtherMaps(view) {
  const others = view.stored.slice(1).map((map) => decodeMap(map, view.shape));
  view.maps.push(...(await Promise.all(others)));
}

// The picture of one slice, or null where the report was made without images.
export async function decodePicture(image, slice) {
  if (!image || !image.slices[slice]) return null;
  return createImageBitmap(new Blob([bytesOfBase64(image.slices[slice])], { type: image.type }));
}

// A map may be coarser than the first by a whole step; each of its items then stands for a square of them.
export async function decodeMap(map, [slices, rows, columns]) {
  const step = map.step ?? 1;
  const [low, narrow] = [Math.ceil(rows / step), Math.ceil(columns / step)];
  const items = await unpack(map);
  if (items.length !== slices * low * narrow) throw new Error(`a map holds ${items.length} items`);
  undoRowDifferences(items, slices, low, narrow);
  return step === 1 ? items : spread(items, [slices, rows, columns], [low, narrow], step);
}

async function unpack({ type, data }) {
  const packed = new Blob([bytesOfBase64(data)]).stream();
  const bytes = await new Response(packed.pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
  return new MAP_ARRAYS[type](bytes);
}

function spread(items, [slices, rows, columns], [low, narrow], step) {
  const wide = new items.constructor(slices * rows * columns);
  let place = 0;
  for (let slice = 0; slice < slices; slice++) {
    for (let row = 0; row < rows; row++) {
      const start = (slice * low + Math.floor(row / step)) * narrow;
      for (let column = 0; column < columns; column++) wide[place++] = items[start + Math.floor(column / step)];
    }
  }
  return wide;
}

function undoRowDifferences(items, slices, rows, columns) {
  const size = rows * columns;
  for (let slice = 0; slice < slices; slice++) {
    const end = (slice + 1) * size;
    for (let item = slice * size + columns; item < end; item++) items[item] ^= items[item - columns];
  }
}

function bytesOfBase64(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let place = 0; place < letters.length; place++) bytes[place] = letters.charCodeAt(place);
  return bytes;
}
