// A command to be copied to a terminal.

import { el } from "./dom.js";

const COPIED_MS = 2000;

export function commandLine(command) {
  if (!command) return null;
  const code = el("code", { tabindex: "0", "aria-label": `In a terminal: ${command}` }, command);
  const button = el("button", { type: "button", id: "copy-command", onclick: () => copy(command, code, button) }, "copy");
  return el("div", { class: "bar command" }, el("span", { class: "quiet" }, "In a terminal:"), code, button);
}

async function copy(command, code, button) {
  try {
    await navigator.clipboard.writeText(command);
    button.textContent = "copied";
  } catch { // not allowed, or no secure context: what is selected can be copied by hand
    getSelection().selectAllChildren(code);
    button.textContent = "selected";
  }
  setTimeout(() => { button.textContent = "copy"; }, COPIED_MS);
}
