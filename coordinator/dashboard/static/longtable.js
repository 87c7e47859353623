// A table that may have many rows: it shows the first ones and all when asked, finds rows by a part of their names, and is sorted by its heads.

import { count, el, redraw, table, visible } from "./dom.js";

const states = new Map(); // id of a table, which has the names of its group and its member, → {search, sort, isDown, isWhole}, which stay when the page is drawn again

export const shownAtFirst = () => (matchMedia("(max-width: 600px)").matches ? 4 : 10);

const comparing = (read) => (one, other) => {
  const [a, b] = [read(one), read(other)];
  if (a === null || a === undefined) return b === null || b === undefined ? 0 : 1; // what is not known comes last, either way
  if (b === null || b === undefined) return -1;
  return typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
};

function sorted(columns, rows, state) {
  const column = columns.find((each) => each.head === state.sort);
  if (!column) return rows;
  const known = rows.filter((row) => (column.by(row) ?? null) !== null);
  const unknown = rows.filter((row) => (column.by(row) ?? null) === null);
  const ordered = [...known].sort(comparing(column.by));
  return [...(state.isDown ? ordered.reverse() : ordered), ...unknown];
}

// The first click sorts numbers from the largest on and names from A on, the second the other way; the third gives the first order back.
function nextSort(state, column) {
  const beginsDown = Boolean(column.number);
  if (state.sort !== column.head) return { sort: column.head, isDown: beginsDown };
  return state.isDown === beginsDown ? { sort: column.head, isDown: !beginsDown } : { sort: null, isDown: false };
}

// `columns` as those of `table`; one with `by`, which reads a value from a row, sorts. `find` reads the text in which a word is looked for.
export function longTable(key, columns, rows, { find, first = shownAtFirst(), row } = {}) {
  const id = visible(key);
  const state = { search: "", sort: null, isDown: false, isWhole: false, ...states.get(id) };
  const body = el("div", {});
  const change = (changes) => {
    Object.assign(state, changes);
    states.set(id, state);
    draw();
  };
  const head = (column) => (column.by && rows.length > 1 ? {
    ...column, direction: state.sort === column.head ? (state.isDown ? "descending" : "ascending") : "none",
    label: el("button", { type: "button", id: `${id}-by-${column.head}`, title: `Sort by ${column.head}`, onclick: () => change(nextSort(state, column)) }, column.head),
  } : column);
  const draw = () => {
    const needle = state.search.toLowerCase();
    const found = needle && find ? rows.filter((each) => String(find(each)).toLowerCase().includes(needle)) : rows;
    const shown = state.isWhole ? found : found.slice(0, first);
    redraw(body,
      shown.length ? table(columns.map(head), sorted(columns, found, state).slice(0, shown.length), { row }) : el("p", { class: "quiet" }, "No row matches."),
      found.length > first ? el("p", { class: "bar more" },
        el("span", { class: "quiet" }, state.isWhole ? `all ${count(found.length)}` : `and ${count(found.length - first)} more`),
        el("button", { type: "button", id: `${id}-all`, onclick: () => change({ isWhole: !state.isWhole }) }, state.isWhole ? `show ${count(first)}` : `show all ${count(found.length)}`)) : null);
  };
  draw();
  return el("div", { class: "long", id }, rows.length > first ? bar(id, columns, state, find, change) : null, body);
}

// A narrow window has no heads to sort by, so it has a list of them.
function bar(id, columns, state, find, change) {
  const sorts = columns.filter((each) => each.by);
  return el("div", { class: "bar" },
    find ? el("input", { id: `${id}-find`, type: "search", class: "find", placeholder: "Find", "aria-label": "Find in the table", autocomplete: "off", spellcheck: "false", value: state.search, oninput: (event) => change({ search: event.target.value }) }) : null,
    sorts.length ? el("label", { class: "narrow" }, "Sort by ", el("select", { id: `${id}-sort`, onchange: (event) => { const column = sorts.find((each) => each.head === event.target.value); change(column ? { sort: column.head, isDown: Boolean(column.number) } : { sort: null }); } },
      ["", ...sorts.map((each) => each.head)].map((each) => el("option", { value: each, selected: each === (state.sort ?? "") }, each || "…")))) : null);
}
