// What the browser keeps for this study and adjudicator. Where it may not keep anything, this page alone remembers.

export class BrowserMemory {
  constructor(prefix) {
    this.prefix = `manytruths ${prefix} `;
    this.spare = new Map();
  }

  read(key, otherwise = null) {
    try {
      const text = localStorage.getItem(this.prefix + key) ?? this.spare.get(key);
      return text ? JSON.parse(text) : otherwise;
    } catch {
      return this.spare.has(key) ? JSON.parse(this.spare.get(key)) : otherwise;
    }
  }

  // False where the browser could not keep it.
  write(key, value) {
    const text = JSON.stringify(value);
    try {
      localStorage.setItem(this.prefix + key, text);
      this.spare.delete(key);
      return true;
    } catch {
      this.spare.set(key, text);
      return false;
    }
  }

  forget(key) {
    this.spare.delete(key);
    try {
      localStorage.removeItem(this.prefix + key);
    } catch {
      return;
    }
  }

  keys(start) {
    const kept = [];
    try {
      for (let at = 0; at < localStorage.length; at++) {
        const key = localStorage.key(at);
        if (key.startsWith(this.prefix + start)) kept.push(key.slice(this.prefix.length));
      }
    } catch {
      kept.length = 0;
    }
    return [...new Set([...kept, ...[...this.spare.keys()].filter((key) => key.startsWith(start))])].sort();
  }
}
