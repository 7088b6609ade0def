// What the viewer shows now, for tests and for whoever asks in the console.
import { chosenLayer, visibleColumns } from "./viewer-panel.js";

export function stateOf({ parts, index, view, part, complete, choices, reader, stage, slice, highlight }) {
  const { opacity, threshold, label, lesions } = choices;
  const asked = { open: parts.dialog.open, index, loaded: Boolean(view && complete), opacity, threshold, label, lesions };
  if (!view) return asked;
  const { cursor } = reader;
  return {
    ...asked,
    name: view.name,
    layer: chosenLayer(view, choices)?.name ?? "none",
    visible: visibleColumns(view, choices).map((column) => view.columns[column].name),
    highlight: highlight === null ? null : view.columns[highlight].name,
    part,
    slice: view.first + slice,
    slices: view.shape[0],
    cursor: cursor ? { x: cursor.column * view.step, y: cursor.row * view.step } : null,
    place: { ...stage.place },
    marks: stage.scene?.marks?.map((mark) => mark.words) ?? [],
    fitted: stage.fitted,
    bare: Boolean(stage.scene?.bare),
  };
}
