// Blocks of images as the server sends them, and their slices as pictures in a grey window.

const TYPES = { u1: Uint8Array, i2: Int16Array, u2: Uint16Array, f4: Float32Array };

// Four bytes with the length of a JSON head, the head, and values in the order of the array. A flat image becomes one slice.
export function readBlock(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const Type = TYPES[head.dtype];
  const start = 4 + length;
  const values = new Type(start % Type.BYTES_PER_ELEMENT ? buffer.slice(start) : buffer, start % Type.BYTES_PER_ELEMENT ? 0 : start);
  const flat = head.shape.length === 2;
  return { ...head, shape: flat ? [1, ...head.shape] : head.shape, values, windows: head.windows ?? [] };
}

export function blockBytes(block) {
  return block ? block.values.byteLength : 0;
}

// Steps in `values` along slices, rows and columns.
export function stridesOf([, rows, columns]) {
  return [rows * columns, columns, 1];
}

// A slice as a canvas of one pixel each, rows and columns as they lie in the array.
export function paintSlice(block, plane, slice, { low, high }) {
  const { shape, values, channels } = block;
  const strides = stridesOf(shape);
  const [rows, columns] = [shape[plane.rows], shape[plane.columns]];
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [columns, rows];
  const context = canvas.getContext("2d");
  const picture = context.createImageData(columns, rows);
  const data = picture.data;
  const scale = 255 / Math.max(high - low, 1e-9);
  const whole = channels === 3 && low === 0 && high === 255;
  for (let row = 0, to = 0; row < rows; row++) {
    let at = slice * strides[plane.across] + row * strides[plane.rows];
    for (let column = 0; column < columns; column++, at += strides[plane.columns], to += 4) {
      if (channels === 3) {
        for (let part = 0; part < 3; part++) data[to + part] = whole ? values[3 * at + part] : (values[3 * at + part] - low) * scale;
      } else {
        data[to] = data[to + 1] = data[to + 2] = (values[at] - low) * scale;
      }
      data[to + 3] = 255;
    }
  }
  context.putImageData(picture, 0, 0);
  return canvas;
}

// The ends of a window by name, or those that were dragged; the first window of the image where it has no such.
export function windowOf(block, chosen) {
  if (chosen?.name === null) return { name: null, low: chosen.low, high: chosen.high };
  const own = block.windows.find(({ name }) => name === chosen?.name) ?? block.windows[0];
  if (own) return own;
  return { name: "whole", low: block.low ?? 0, high: block.high ?? 255 };
}
