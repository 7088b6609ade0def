// The view of a case as it is stored → arrays that can be looked up, and pictures.

const MAP_ARRAYS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };

// The first map alone holds all outlines, so that a case opens with it; decodeOtherMaps brings the others.
export async function decodeView(stored) {
  return { ...stored, stored: stored.maps, maps: [await decodeMap(stored.maps[0], stored.shape)] };
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

export async function decodeMap(map, [slices, rows, columns]) {
  const packed = new Blob([bytesOfBase64(map.data)]).stream();
  const bytes = await new Response(packed.pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
  const items = new MAP_ARRAYS[map.type](bytes);
  if (items.length !== slices * rows * columns) throw new Error(`a map holds ${items.length} items`);
  undoRowDifferences(items, slices, rows, columns);
  return items;
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
