// Elements without markup in strings: names are chosen by clients, so text only ever becomes a text node.

export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// A page is drawn again while it is read: what has the focus keeps it.
export function show(...children) {
  const page = document.getElementById("page");
  const focused = page.contains(document.activeElement) ? keyOf(document.activeElement) : null;
  page.replaceChildren(...children.flat(3).filter(Boolean));
  if (focused) [...page.querySelectorAll("a, button, select, input")].find((each) => keyOf(each) === focused)?.focus({ preventScroll: true });
}

const keyOf = (element) => element.id || element.getAttribute("href") || element.getAttribute("aria-label");

// A name that a client chose: it cannot change the direction of the text around it, and what is invisible is spelled out.
export function bdi(name) {
  return name === null || name === undefined ? "" : el("bdi", {}, visible(String(name)));
}

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/gu;
export const visible = (text) => text.replace(INVISIBLE, (found) => `\\u{${found.codePointAt(0).toString(16)}}`);

export function table(columns, rows, options = {}) {
  const head = el("tr", {}, columns.map((column) => el("th", { class: column.number ? "number" : null, scope: "col" }, column.head)));
  const body = rows.map((row) =>
    el("tr", options.row ? options.row(row) : {}, columns.map((column) =>
      el("td", { class: [column.number && "number", column.name && "name"].filter(Boolean).join(" ") || null }, column.cell(row)))));
  return el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), el("tbody", {}, body)));
}

// ---- words

const number = new Intl.NumberFormat("en");
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });

export const count = (value) => (value === null || value === undefined ? "" : number.format(value));
export const time = (ms) => (ms === null || ms === undefined ? "" : clock.format(ms));
export const dateTime = (ms) => (ms === null || ms === undefined ? "" : `${day.format(ms)} ${clock.format(ms)}`);

export function duration(ms) {
  if (ms === null || ms === undefined) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(ms < 10000 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60000);
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60000) / 1000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function ago(ms, now) {
  if (ms === null || ms === undefined) return "";
  const past = Math.max(0, now - ms);
  return past < 5000 ? "just now" : `${duration(past)} ago`;
}

export const groupLink = (groupId) => `#/groups/${encodeURIComponent(groupId)}`;
export const generationLink = (groupId, id) => `${groupLink(groupId)}/generations/${id}`;
export const memberLink = (groupId, memberId) => `${groupLink(groupId)}/members/${encodeURIComponent(memberId)}`;
