// Elements without markup in strings: names are chosen by clients, so text only ever becomes a text node.

import { dateTime, utc } from "./times.js";

const SHOWN_TO_READERS = new Set(["title", "aria-label"]);

export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, SHOWN_TO_READERS.has(key) ? visible(String(value)) : value);
  }
  element.append(...content(children));
  return element;
}

// What becomes the content of an element. All text passes here, so none of it has characters that cannot be seen.
const content = (children) => children.flat(4)
  .filter((child) => child !== null && child !== undefined && child !== false)
  .map((child) => (child instanceof Node ? child : visible(String(child))));

export const fill = (element, ...children) => element.replaceChildren(...content(children));

const SETTLED_MS = 1500;
let settling = null;

// What is read stays where it is while the page is drawn again, although some of the content comes a moment later.
export function holdHeight() {
  const page = document.getElementById("page");
  page.style.minHeight = `${page.offsetHeight}px`;
  clearTimeout(settling);
  settling = setTimeout(() => { page.style.minHeight = ""; }, SETTLED_MS);
}

// A page is drawn again while it is read: what has the focus keeps it.
export function show(title, ...children) {
  document.title = `${middle(readable(title), 80)} · consumer groups`;
  redraw(document.getElementById("page"), ...children);
}

export function redraw(element, ...children) {
  const before = document.activeElement;
  const focused = element.contains(before) ? keyOf(before) : null;
  const caret = focused && before.type === "search" ? [before.selectionStart, before.selectionEnd] : null;
  fill(element, ...children);
  if (!focused) return;
  const after = [...element.querySelectorAll("a, button, select, input, summary")].find((each) => keyOf(each) === focused);
  after?.focus({ preventScroll: true });
  if (after && caret) after.setSelectionRange(...caret);
}

const keyOf = (element) => element.id || element.getAttribute("href") || element.getAttribute("aria-label");

// A name that a client chose: it cannot change the direction of the text around it, and what is invisible is spelled out.
export function bdi(name) {
  if (name === null || name === undefined) return "";
  return name === "" ? el("span", { class: "quiet" }, "(empty name)") : el("bdi", {}, readable(String(name)));
}

// As `bdi`, with the middle of a long name left out; the whole is its title.
const SHORT = 48;
export function short(name) {
  if (!name || [...readable(name)].length <= SHORT) return bdi(name);
  return el("bdi", { title: name }, middle(readable(name), SHORT));
}

// Names with commas between them; beyond `most` they are counted.
export function names(list, most = Infinity) {
  const shown = list.slice(0, most).flatMap((name, index) => [index ? ", " : null, short(name)]);
  return list.length > most ? [...shown, ` and ${count(list.length - most)} more`] : shown;
}

// All that moves the cursor, turns the direction of text or cannot be seen, and spaces that are no space bar's.
const INVISIBLE = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]|^\p{M}|(?<=\p{M}{2})\p{M}+/gu;
const escaped = (character) => `\\u{${character.codePointAt(0).toString(16)}}`;
const PLAIN = /^[\x20-\x7e]*$/; // of most texts; the other expression takes much longer
export const visible = (text) => (PLAIN.test(text) ? text : text.replace(INVISIBLE, (found) => [...found].map(escaped).join("")));

// A name with all that is in it to be seen: quoted if it begins or ends with a space, or looks as if it were quoted.
const NEEDS_QUOTES = /^[ "]|[ "]$/;
export const readable = (name) => (NEEDS_QUOTES.test(name) ? `"${visible(name)}"` : visible(name));

// A time with its day and its form in UTC as a title.
export const moment = (ms, words) => (ms === null || ms === undefined ? "" : el("time", { title: `${dateTime(ms)} = ${utc(ms)}` }, words));

// Columns are {head, cell, number, name, words}; `label` stands in the place of the head, `direction` is how it sorts. On a narrow window each row of a table with many columns becomes a list.
export function table(columns, rows, options = {}) {
  const head = el("tr", { role: "row" }, columns.map((column) => el("th", { class: column.number ? "number" : null, scope: "col", role: "columnheader", "aria-sort": column.direction }, column.label ?? column.head)));
  const body = rows.map((row) =>
    el("tr", { role: "row", ...(options.row ? options.row(row) : {}) }, columns.map((column) => {
      const kinds = [column.number && "number", column.name && "name", column.words && "words"].filter(Boolean).join(" ") || null;
      const inner = content([column.cell(row)]).filter((each) => each !== "");
      return el("td", { class: kinds, role: "cell", "data-head": column.head || null }, inner.length ? el("div", {}, inner) : null);
    })));
  const kind = columns.length > 3 ? "stacked" : null;
  return el("div", { class: "scroll" }, el("table", { class: kind, role: "table" },
    el("thead", { role: "rowgroup" }, head), el("tbody", { role: "rowgroup" }, body)));
}

// ---- words

const number = new Intl.NumberFormat("en");
export const count = (value) => (value === null || value === undefined ? "" : number.format(value));
export const firstUpper = (text) => text.charAt(0).toUpperCase() + text.slice(1);
// What the generations of a group are called: those of a consumer group (KIP-848) are group epochs.
export const wordFor = (generations) => {
  const epochs = generations.filter((each) => each.is_epoch).length;
  if (!epochs) return "generation";
  return epochs === generations.length ? "group epoch" : "generation or group epoch";
};
const PLURALS = { generation: "generations", "group epoch": "group epochs", "generation or group epoch": "generations and group epochs" };
export const wordsFor = (generations) => PLURALS[wordFor(generations)];
export const counted = (value, noun) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

// The beginning and the end of a text that is too long: names of members often differ in the end only.
export function middle(text, most) {
  const shown = [...text];
  if (shown.length <= most) return text;
  const end = Math.floor((most - 1) / 2);
  return `${shown.slice(0, most - 1 - end).join("")}…${shown.slice(shown.length - end).join("")}`;
}
