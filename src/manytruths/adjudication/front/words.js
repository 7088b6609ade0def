// The words of the page, which stand in words.json by key: "progress.left" or, by number, "progress.left.one" and ".other".
let pageWords = {};
let pluralRules = new Intl.PluralRules("en");

export function loadWords(text, language) {
  pageWords = JSON.parse(text);
  pluralRules = new Intl.PluralRules(language || "en");
}

// The words of a key with {names} filled in; `n` chooses the plural. A key without words is shown itself.
export function say(key, values = {}) {
  const words = pageWords[`${key}.${values.n === undefined ? "" : pluralRules.select(values.n)}`] ?? pageWords[key] ?? pageWords[`${key}.other`] ?? key;
  return words.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

export function hasWords(key) {
  return key in pageWords;
}
