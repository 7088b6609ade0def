// The viewer of a case: a dialog over the whole page.
import { decodeOtherMaps, decodePicture, decodeView } from "./decode.js";
import { saveBlob } from "./tables.js";
import { buildViewer, showLetters } from "./viewer-frame.js";
import { watchGestures } from "./viewer-gestures.js";
import { actionOfKey } from "./viewer-keys.js";
import { lesionMarks, readLesions } from "./viewer-lesions.js";
import { fetchView, setAddress, whyNotRead } from "./viewer-loading.js";
import { chosenLabel, chosenLayer, columnKey, fillPanel, firstChoices } from "./viewer-panel.js";
import { isVisible, thresholdOf, updatePanel, visibleColumns } from "./viewer-panel.js";
import { placeAt, placeFrames, placesPart } from "./viewer-places.js";
import { picturePng, pictureSvg } from "./viewer-picture.js";
import { PixelReader } from "./viewer-reader.js";
import { readOut } from "./viewer-readout.js";
import { SliceScene } from "./viewer-scene.js";
import { PictureStage } from "./viewer-stage.js";
import { stateOf } from "./viewer-state.js";

const SLOW_LOADING_MS = 150;

let viewer = null;

// `order()` gives the indices of the cases as the table shows them now; `load(index)` a promise of the view;
// `about(index)` what the table says of a case; `numbered` whether its marks are lesions that can be counted.
export function setUpViewer({ cases, order, load, about, numbered }) {
  viewer = new CaseViewer({ cases, order, load, about, numbered });
  window.manytruthsViewer = { at: (x, y, slice) => viewer.at(x, y, slice), state: () => viewer.state() };
  window.addEventListener("hashchange", openFromAddress);
  openFromAddress();
}

export function openViewer(index) {
  return viewer.open(index);
}

function openFromAddress() {
  const asked = /^#case=(.+)$/.exec(location.hash)?.[1];
  const found = viewer.cases.find((one) => asked === encodeURIComponent(one.name) || asked === one.name);
  if (found && found.index !== viewer.index) viewer.open(found.index);
}

class CaseViewer {
  constructor(given) {
    Object.assign(this, given, { choices: firstChoices(), index: null, view: null, whole: null, part: 0, slice: 0, turn: 0 });
    this.parts = buildViewer({
      go: (step) => this.go(step),
      close: () => this.parts.dialog.close(),
      zoom: (factor) => this.stage.zoomBy(factor),
      fit: () => this.stage.fit(),
      save: (kind) => this.savePicture(kind),
      bare: (on) => this.showBare(on),
      keys: () => this.showKeys(this.parts.keys.hidden),
      sliceTo: (slice) => this.showSlice(slice),
    });
    this.stage = new PictureStage(this.parts.canvas);
    this.reader = new PixelReader(this.stage, this.parts.readout, this.parts.announce);
    this.listen();
  }

  listen() {
    const { dialog } = this.parts;
    watchGestures(this.stage, {
      hover: (item) => this.reader.hover(item),
      tap: (item) => this.tapped(item),
      slice: (steps) => this.turnSlices(steps),
    });
    dialog.addEventListener("close", () => this.closed());
    dialog.addEventListener("click", (event) => this.giveKeysBack(event));
    document.addEventListener("keydown", (event) => dialog.open && this.pressed(event));
    document.addEventListener("keyup", (event) => event.key === " " && this.showBare(false));
    window.addEventListener("blur", () => this.showBare(false));
    window.addEventListener("resize", () => this.reader.measure());
  }

  async open(index) {
    const turn = ++this.turn;
    Object.assign(this, { index, view: null, whole: null, part: 0, scene: null, complete: false, highlight: null });
    this.reader.use(null);
    const { dialog, canvas } = this.parts;
    if (!dialog.open) {
      this.opener = document.activeElement;
      dialog.showModal();
      canvas.focus();
    }
    this.showHeading();
    setAddress(`#case=${encodeURIComponent(this.caseOf(index).name)}`);
    const waiting = setTimeout(() => this.say(`Opening ${this.caseOf(index).name} …`), SLOW_LOADING_MS);
    const { view, trouble } = await fetchView(this.caseOf(index), this.load);
    clearTimeout(waiting);
    if (turn !== this.turn) return;
    if (!view) return this.showTrouble(trouble);
    this.whole = view;
    await this.showCase(view);
    await this.showOtherMaps(view);
  }

  // Of a large case: a place at full resolution or, with 0, the overview.
  async showPart(asked) {
    const { whole, index } = this;
    const part = Math.min(Math.max(asked, 0), whole.parts.length);
    if (part === this.part) return;
    const turn = ++this.turn;
    try {
      whole.decoded ??= [whole];
      whole.decoded[part] ??= await decodeView(whole.parts[part - 1]);
    } catch (error) {
      if (turn === this.turn) this.showTrouble(whyNotRead(error));
      return;
    }
    if (turn !== this.turn || this.index !== index) return;
    Object.assign(this, { part, complete: false, highlight: null });
    this.showHeading();
    await this.showCase(whole.decoded[part]);
    await this.showOtherMaps(whole.decoded[part]);
  }

  // Slices of a volume, or places of a large case.
  turnSlices(steps) {
    return this.whole?.parts?.length ? this.showPart(this.part + steps) : this.showSlice(this.slice + steps);
  }

  tapped(item) {
    const place = this.view && this.view === this.whole ? placeAt(this.whole, item) : 0;
    if (place) this.showPart(place);
    else this.reader.setCursor(item);
  }

  async showOtherMaps(view) {
    try {
      if (view.maps.length < view.stored.length) await decodeOtherMaps(view);
    } catch (error) {
      if (this.view === view) this.showTrouble(whyNotRead(error));
      return;
    }
    if (this.view !== view) return;
    this.complete = true;
    if (chosenLayer(view, this.choices)?.map) this.choose(() => this.layerParts());
    this.reader.again();
  }

  showTrouble(words) {
    this.view = this.scene = null;
    this.reader.use(null);
    this.stage.show(null);
    this.parts.panel.replaceChildren();
    this.parts.readout.replaceChildren();
    this.parts.slices.hidden = true;
    this.say(words);
  }

  async showCase(view) {
    this.view = view;
    this.reader.use(view);
    this.pictures = new Map();
    this.lesions = this.numbered ? readLesions(view) : [];
    this.stage.fitted = true;
    const hadFocus = this.parts.panel.contains(document.activeElement);
    fillPanel(this.parts.panel, view, this.choices, this.panelActions(), this.lesions);
    if (this.whole.parts?.length) this.parts.panel.prepend(placesPart(this.whole, this.part, (part) => this.showPart(part)));
    if (hadFocus) (this.parts.panel.querySelector("[name=viewer-place]:checked") ?? this.parts.canvas).focus();
    const [slices] = view.shape;
    showLetters(this.parts.letters, view.letters);
    this.parts.bare.hidden = !view.image;
    this.parts.slices.hidden = view.of === 1 && slices === 1;
    this.parts.slice.max = slices - 1;
    this.parts.canvas.setAttribute("aria-label", `Picture of case ${view.name} with outlines`);
    this.reader.measure();
    await this.showSlice(view.start);
  }

  async showSlice(asked) {
    const { view, parts } = this;
    if (!view) return;
    const [slices] = view.shape;
    const slice = Math.min(Math.max(asked, 0), slices - 1);
    this.slice = slice;
    parts.slice.value = slice;
    const words = `${view.axis} ${view.first + slice + 1} of ${view.of}`;
    parts.slices.querySelector("label").textContent = words;
    parts.slice.setAttribute("aria-valuetext", words);
    const image = await this.picture(slice);
    if (this.view !== view || this.slice !== slice) return;
    this.say("");
    this.scene = new SliceScene(view, slice);
    this.drawScene(image);
    this.reader.useSlice(slice);
    for (const next of [slice + 1, slice - 1]) this.picture(next);
  }

  // A picture that cannot be read is left out; outlines and maps are shown all the same.
  picture(slice) {
    if (!this.pictures.has(slice)) this.pictures.set(slice, decodePicture(this.view.image, slice).catch(() => null));
    return this.pictures.get(slice);
  }

  drawScene(image) {
    const { view, scene, choices, reader } = this;
    const fixed = { grid: scene.grid, columns: view.columns, image, cursor: reader.cursor, opacity: choices.opacity };
    const frames = view === this.whole ? placeFrames(view) : null;
    this.stage.show({ ...fixed, ...this.outlineParts(), ...this.layerParts(), ...this.lesionParts(), frames });
    if (this.stage.fitted) this.stage.fit();
    this.stage.draw();
  }

  outlineParts() {
    const { view, scene, choices, highlight } = this;
    const label = chosenLabel(view, choices);
    const lit = highlight !== null && isVisible(view, choices, view.columns[highlight]);
    const visible = visibleColumns(view, choices);
    const key = `${label} ${visible}`;
    if (scene.key !== key) Object.assign(scene, { key, chains: scene.outlines(visible, label) });
    return { outlines: scene.chains, highlight: lit ? scene.outlineAlone(highlight, label) : null };
  }

  layerParts() {
    const { view, scene, choices } = this;
    const layer = chosenLayer(view, choices);
    if (!layer || !view.maps[layer.map]) return { heat: null, between: null, threshold: null };
    const threshold = thresholdOf(layer, choices);
    const parts = { heat: scene.heat(layer, threshold), between: scene.between(layer) };
    return { ...parts, threshold: scene.threshold(layer, threshold) };
  }

  lesionParts() {
    const { view, choices, lesions, slice } = this;
    return { marks: choices.lesions ? lesionMarks(lesions, slice, chosenLabel(view, choices)) : null };
  }

  async zoomToLesion(lesion) {
    this.choices.lesions = true;
    await this.showSlice(Math.round(lesion.slice));
    this.choose(() => this.lesionParts());
    this.stage.zoomTo(lesion);
  }

  panelActions() {
    const outlines = () => this.choose(() => this.outlineParts());
    const layers = () => this.choose(() => this.layerParts());
    return {
      column: (who, on) => (this.choices.columns.set(columnKey(who), on), outlines()),
      role: (role, on) => {
        const members = this.view.columns.filter((who) => who.role === role);
        for (const who of members) this.choices.columns.set(columnKey(who), on);
        outlines();
      },
      highlight: (column) => ((this.highlight = column), outlines()),
      label: (name) => ((this.choices.label = name), this.choose(() => ({ ...this.outlineParts(), ...this.lesionParts() }))),
      lesions: (on) => ((this.choices.lesions = on), this.choose(() => this.lesionParts())),
      lesion: (which) => this.zoomToLesion(which),
      layer: (name) => ((this.choices.layer = name), layers()),
      threshold: (value) => ((this.choices.threshold = value), layers()),
      opacity: (share) => ((this.choices.opacity = share), this.choose(() => ({ opacity: share }))),
    };
  }

  choose(partsOf) {
    if (!this.view || !this.scene) return;
    updatePanel(this.parts.panel, this.view, this.choices, this.lesions);
    this.stage.change(partsOf());
  }

  toggle(place) {
    const who = this.view?.columns[place];
    if (who) this.panelActions().column(who, !isVisible(this.view, this.choices, who));
  }

  pressed(event) {
    if (event.key === "Escape" && !this.parts.keys.hidden) {
      event.preventDefault();
      this.showKeys(false);
      return;
    }
    const [name, argument] = actionOfKey(event) ?? [];
    const acts = {
      go: () => this.go(argument),
      slice: () => this.view && this.turnSlices(argument),
      zoom: () => this.stage.zoomBy(argument),
      fit: () => this.stage.fit(),
      save: () => this.savePicture(argument),
      read: () => this.reader.setCursor(this.stage.itemInMiddle()),
      cursor: () => this.reader.moveCursor(argument),
      toggle: () => this.toggle(argument),
      lesions: () => this.lesions?.length && this.panelActions().lesions(!this.choices.lesions),
      bare: () => this.showBare(true),
      keys: () => this.showKeys(this.parts.keys.hidden),
    };
    if (!name) return;
    event.preventDefault();
    acts[name]();
  }

  // After a click the keys are for the picture again; who works with the keyboard stays where they are.
  giveKeysBack(event) {
    const clicked = event.detail > 0 && event.target.closest("button, label");
    if (clicked && this.parts.dialog.open && !clicked.querySelector("select")) {
      setTimeout(() => this.parts.canvas.focus({ preventScroll: true }));
    }
  }

  go(step) {
    const order = this.order();
    const here = order.indexOf(this.index);
    const next = here < 0 ? order[0] : order[here + step];
    if (next !== undefined) this.open(next);
  }

  showHeading() {
    const { title, about, previous, next } = this.parts;
    const shown = this.caseOf(this.index);
    const order = this.order();
    const here = order.indexOf(this.index);
    title.textContent = this.part ? `${shown.name}, place ${this.part}` : shown.name;
    const place = here < 0 ? "" : `${here + 1} of ${order.length}`;
    about.textContent = [place, shown.group, ...this.about(this.index)].filter(Boolean).join(" · ");
    previous.disabled = here === 0;
    next.disabled = here === order.length - 1;
  }

  caseOf(index) {
    return this.cases.find((one) => one.index === index) ?? { name: String(index) };
  }

  showBare(on) {
    if (Boolean(this.stage.scene?.bare) !== on) this.stage.change({ bare: on });
  }

  // As it lies in the window, with a scale bar and what its colours mean.
  async savePicture(kind) {
    const { view, scene, choices, stage, parts } = this;
    if (!view || !scene) return;
    const slice = parts.slices.hidden ? "" : `${view.axis} ${view.first + this.slice + 1} of ${view.of}`;
    const layer = chosenLayer(view, choices);
    const shown = { view, slice, columns: visibleColumns(view, choices), layer, threshold: thresholdOf(layer, choices) };
    const number = slice ? `-slice-${view.first + this.slice + 1}` : "";
    try {
      const made = await (kind === "svg" ? pictureSvg : picturePng)(stage, { ...shown, bare: Boolean(stage.scene?.bare) });
      saveBlob(made, `${view.name.replaceAll(/[^\p{L}\p{N}._-]+/gu, "_")}${number}.${kind}`);
      parts.announce.textContent = "The picture is saved.";
    } catch (error) {
      parts.announce.textContent = `The picture cannot be saved (${error.message}).`;
    }
  }

  showKeys(on) {
    this.parts.keys.hidden = !on;
    this.parts.help.setAttribute("aria-expanded", String(on));
  }

  // Over the picture, or in its place.
  say(words) {
    this.parts.message.textContent = words;
    this.parts.message.hidden = !words;
    this.parts.tools.hidden = Boolean(words);
  }

  // Told a moment after: by then another case may be open.
  closed() {
    if (this.parts.dialog.open) return;
    this.turn++;
    Object.assign(this, { index: null, view: null, whole: null, part: 0, scene: null });
    this.reader.use(null);
    this.stage.show(null);
    this.say("");
    this.showKeys(false);
    setAddress("");
    this.opener?.focus?.();
  }

  at(x, y, slice = this.view?.first + this.slice) {
    return this.view ? readOut(this.view, x, y, slice) : null;
  }

  state() {
    return stateOf(this);
  }
}
