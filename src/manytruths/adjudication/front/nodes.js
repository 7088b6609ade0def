// Elements of the page. Strings become text, never markup.

export function pageNode(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export function svgNode(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// A button with its key beside its words. One that was clicked by mouse gives the focus back to the stage, so that keys go on.
export function keyButton(words, key, press, attributes = {}) {
  const cap = key ? pageNode("kbd", { "aria-hidden": "true" }, key) : null;
  const shortcut = key ? { "aria-keyshortcuts": key } : {};
  return pageNode("button", { type: "button", ...shortcut, ...attributes, onclick: press }, pageNode("span", {}, words), cap);
}

// Replaces what an element holds; the control that had the focus gets it again by its name.
export function refill(holder, ...children) {
  const name = holder.contains(document.activeElement) ? document.activeElement.dataset.name : null;
  const scrolled = holder.scrollTop;
  holder.replaceChildren(...children.flat().filter(Boolean));
  holder.scrollTop = scrolled;
  if (name) [...holder.querySelectorAll("[data-name]")].find((control) => control.dataset.name === name)?.focus();
}
