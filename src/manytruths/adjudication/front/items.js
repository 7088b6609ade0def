// A dispute as the page uses it: places are voxels of its block, and a flat image is a volume of one slice.

export function readItem(raw) {
  const flat = raw.axes === 2;
  const lift = (list, first) => (flat && list ? [first, ...list] : list);
  const start = lift(raw.view.start, 0);
  const stop = lift(raw.view.stop, 1);
  const view = start.map((from, axis) => [from, stop[axis]]);
  const axes = flat ? [0, 1, 2] : (raw.display?.axes ?? axesAround(raw.axis ?? 0));
  const flipped = (!flat && raw.display?.flipped) || [false, false, false];
  return {
    ...raw,
    view,
    volume: !flat,
    full: lift(raw.shape, 1),
    shape: view.map(([from, to]) => to - from),
    spacing: lift(raw.spacing, 1),
    centre: lift(raw.centre, 0).map((at, axis) => at - start[axis]),
    box: lift(raw.box, [0, 1]).map(([from, to], axis) => [from - start[axis], to - start[axis]]),
    planes: planesOf(axes, flipped, raw.display?.letters ?? null, flat),
    series: raw.series?.length ? raw.series : [""],
  };
}

// High and low end of each axis of space, in the order of the picture: from the top, or from the left.
const SPACE_LETTERS = [["R", "L"], ["A", "P"], ["S", "I"]];

function axesAround(across) {
  return [across, ...[0, 1, 2].filter((axis) => axis !== across)];
}

// The plane of the slices, and the two planes across it, upright as the first is.
function planesOf([across, rows, columns], [flipSlices, flipRows, flipColumns], letters, flat) {
  const main = { name: planeName(letters) ?? "main", across, rows, columns, flipSlices, flipRows, flipColumns, letters };
  if (flat) return [main];
  const upright = Boolean(letters) && !flipSlices;
  // the high end of the axis across comes to the top, as the ends of rows and columns come first
  const vertical = letters && SPACE_LETTERS.find((pair) => !pair.some((letter) => letters.includes(letter)));
  const [sideways, backwards] = letters ? [[letters[0], letters[1], ...vertical], [letters[2], letters[3], ...vertical]] : [null, null];
  return [
    main,
    { name: planeName(sideways) ?? "rows", across: rows, rows: across, columns, flipSlices: flipRows, flipRows: upright, flipColumns, letters: sideways },
    { name: planeName(backwards) ?? "columns", across: columns, rows: across, columns: rows, flipSlices: flipColumns, flipRows: upright, flipColumns: flipRows, letters: backwards },
  ];
}

// What a plane is called that has these sides of the patient around it.
function planeName(letters) {
  if (!letters) return null;
  if (!letters.includes("S")) return "axial";
  return letters.includes("A") ? "sagittal" : "coronal";
}
