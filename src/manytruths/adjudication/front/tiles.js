// Tiles of a large flat image around its block, at the zoom at which it is seen.
import { paintSlice, readBlock } from "./blocks.js";

const KEPT_TILES = 96;
const AT_ONCE = 4;

export class Tiles {
  // `read(path)` gives the bytes of a tile, or null; `arrived` is called when there is one more to be drawn.
  constructor(read, arrived) {
    Object.assign(this, { read, arrived, kept: new Map(), wanted: [], underWay: 0 });
  }

  // Draws what is there, coarse tiles first, and asks for what is missing; `placing` is from pixels of the block.
  draw(context, item, plane, placing, size, ends) {
    const { side, zooms } = item.tiles;
    const [top, left] = [item.view[plane.rows][0], item.view[plane.columns][0]];
    const sees = (from, step, length) => [-from / step, (length - from) / step].sort((one, other) => one - other);
    const rows = sees(placing.top, placing.down, size.height).map((at) => at + top);
    const columns = sees(placing.left, placing.across, size.width).map((at) => at + left);
    const fine = Math.min(Math.max(Math.floor(-Math.log2(Math.abs(placing.across) * size.ratio)), 0), zooms);
    this.wanted = [];
    for (let zoom = zooms; zoom >= fine; zoom--) {
      const reach = side * 2 ** zoom;
      const last = (axis, most) => Math.min(Math.floor(most / reach), Math.ceil(item.full[axis] / reach) - 1);
      for (let row = Math.max(0, Math.floor(rows[0] / reach)); row <= last(plane.rows, rows[1]); row++) {
        for (let column = Math.max(0, Math.floor(columns[0] / reach)); column <= last(plane.columns, columns[1]); column++) {
          const tile = this.tile(item, `zoom=${zoom}&row=${row}&column=${column}`, zoom === fine);
          if (!tile) continue;
          const stops = [Math.min((row + 1) * reach, item.full[plane.rows]), Math.min((column + 1) * reach, item.full[plane.columns])];
          const [x, y] = [placing.left + placing.across * (column * reach - left), placing.top + placing.down * (row * reach - top)];
          const [wide, high] = [placing.across * (stops[1] - column * reach), placing.down * (stops[0] - row * reach)];
          // a little larger, so that no line is seen between two
          context.drawImage(this.picture(tile, plane, ends), x, y, wide + 0.5, high + 0.5);
        }
      }
    }
    this.next();
  }

  tile(item, place, missing) {
    const key = `${item.id} ${place}`;
    const tile = this.kept.get(key);
    if (tile === undefined && missing) this.wanted.push({ key, path: `/api/items/${item.id}/tile?${place}` });
    if (tile) {
      this.kept.delete(key);
      this.kept.set(key, tile);
    }
    return tile?.block ? tile : null;
  }

  picture(tile, plane, { low, high }) {
    const key = `${low} ${high}`;
    if (tile.key !== key) Object.assign(tile, { key, canvas: paintSlice(tile.block, plane, 0, { low, high }) });
    return tile.canvas;
  }

  next() {
    while (this.underWay < AT_ONCE && this.wanted.length) this.fetch(this.wanted.shift());
  }

  async fetch({ key, path }) {
    this.underWay++;
    this.kept.set(key, {});
    try {
      const buffer = await this.read(path);
      this.kept.set(key, buffer ? { block: readBlock(buffer) } : {});
      for (const old of [...this.kept.keys()].slice(0, -KEPT_TILES)) this.kept.delete(old);
    } catch {
      // asked for again when it is looked at again
      this.kept.delete(key);
    }
    this.underWay--;
    this.arrived();
  }
}
