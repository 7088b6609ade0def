// How outlines look: every letter has a colour and dashes of its own, so that either is enough to tell them apart.

const LETTER_COLOURS = ["#5cc0f5", "#ffab2e", "#3fdc9f", "#ff86bd", "#bda4ff", "#f4ea4f", "#ff7d66", "#8ff0f4", "#cbe86f", "#f2f2f5"];
// Lengths of dashes and gaps in pixels of the page.
const LETTER_DASHES = [[], [12, 5], [2, 4], [12, 4, 2, 4], [6, 6], [18, 4, 6, 4], [2, 8], [8, 3, 2, 3, 2, 3], [24, 6], [4, 2]];

export const CHOICE_COLOUR = "#ffffff";
export const DRAWN_COLOUR = "#ffffff";

export function lookOf(number) {
  return { colour: LETTER_COLOURS[number % LETTER_COLOURS.length], dash: LETTER_DASHES[(number + Math.floor(number / LETTER_COLOURS.length)) % LETTER_DASHES.length] };
}
