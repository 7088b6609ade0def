// From a case to its view, in words where that fails, and the address that leads to it.
import { decodeView } from "./decode.js";

export async function fetchView(shown, load) {
  let stored;
  try {
    stored = await load(shown.index);
  } catch (error) {
    return { trouble: whyNotLoaded(shown, error) };
  }
  try {
    return { view: await decodeView(stored) };
  } catch (error) {
    return { trouble: whyNotRead(error) };
  }
}

function whyNotLoaded({ file }, error) {
  if (!file) return error.message;
  return (
    `The full-size pictures of this case lie in the folder ${decodeURI(file.split("/")[0])} beside the report; ` +
    "it was not found. Keep the two together."
  );
}

export function whyNotRead(error) {
  return `The pictures of this case cannot be read (${error.message}).`;
}

// Pages from a mail or in a frame may not have an address that can be changed; the viewer works without.
export function setAddress(hash) {
  try {
    history.replaceState(history.state, "", hash || location.pathname + location.search);
  } catch {
    return;
  }
}
