// Calls to the server on this computer. Its token comes in the fragment of the address, is kept by the browser for pages
// of this address alone, and is taken out of it; another start of the server has another token.

const TOKEN_KEY = "manytruths token";
const WAIT_MILLISECONDS = 20_000;

export class BackendError extends Error {
  // Status 0: no answer came.
  constructor(status, code, sentence) {
    super(sentence);
    Object.assign(this, { status, code });
  }
}

export class ServerBackend {
  constructor() {
    this.token = takeToken();
    // another tab was opened with the token of a later start
    window.addEventListener("storage", ({ key }) => key === TOKEN_KEY && location.reload());
    this.file = false;
  }

  get(path) {
    return this.ask(path).then((answer) => answer.json());
  }

  // Null where there is no image.
  async image(path) {
    const answer = await this.ask(path);
    return answer.status === 204 ? null : answer.arrayBuffer();
  }

  post(path, body) {
    return this.ask(path, { method: "POST", body: JSON.stringify(body) }).then((answer) => answer.json());
  }

  async ask(path, options = {}) {
    const headers = { Authorization: `Bearer ${this.token}`, ...(options.body ? { "Content-Type": "application/json" } : {}) };
    let answer;
    try {
      answer = await fetch(path, { ...options, headers, cache: "no-store", signal: AbortSignal.timeout(WAIT_MILLISECONDS) });
    } catch {
      throw new BackendError(0, "unreachable", "");
    }
    if (answer.ok) return answer;
    const told = await answer.json().catch(() => ({}));
    throw new BackendError(answer.status, told.code ?? "", told.error ?? `${answer.status}`);
  }
}

function takeToken() {
  const found = /(?:^#|&)token=([^&]+)/.exec(location.hash);
  if (!found) return keptToken();
  const token = decodeURIComponent(found[1]);
  try {
    localStorage.setItem(TOKEN_KEY, token);
  } catch {
    // this page alone knows it then
  }
  history.replaceState(null, "", location.pathname + location.search);
  return token;
}

function keptToken() {
  try {
    return localStorage.getItem(TOKEN_KEY) ?? "";
  } catch {
    return "";
  }
}
