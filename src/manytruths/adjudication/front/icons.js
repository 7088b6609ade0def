// Small pictures on buttons of the stage; their names are in the buttons' labels.
import { svgNode } from "./nodes.js";

const ICON_PATHS = {
  pan: "M8 1.5v13M1.5 8h13M8 1.5 6 3.5M8 1.5l2 2M8 14.5l-2-2M8 14.5l2-2M1.5 8l2-2M1.5 8l2 2M14.5 8l-2-2M14.5 8l-2 2",
  window: "M8 2a6 6 0 1 0 0 12A6 6 0 1 0 8 2M8 2v12M8 5h4.6M8 8h6M8 11h4.6",
  ruler: "M1.8 11.2 11.2 1.8l3 3-9.4 9.4zM4.4 8.6l1.5 1.5M6.6 6.4l2 2M8.8 4.2l1.5 1.5",
  zoomIn: "M8 3v10M3 8h10",
  zoomOut: "M3 8h10",
  fit: "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4",
  layout: "M2 3h7v10H2zM11 3h3v4h-3zM11 9h3v4h-3z",
  bare: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8M8 6a2 2 0 1 0 0 4 2 2 0 1 0 0-4",
};

export function pageIcon(name) {
  return svgNode("svg", { viewBox: "0 0 16 16", width: 18, height: 18, "aria-hidden": "true", class: "icon" }, svgNode("path", { d: ICON_PATHS[name] }));
}

// A line as it is drawn on the stage.
export function lineSample({ colour, dash }) {
  const line = svgNode("line", { x1: 2, y1: 7, x2: 42, y2: 7, stroke: colour, "stroke-width": 2.5, "stroke-dasharray": dash.join(" ") || "none" });
  return svgNode("svg", { viewBox: "0 0 44 14", width: 44, height: 14, "aria-hidden": "true", class: "line-sample" }, line);
}
