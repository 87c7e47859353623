// All groups: states, rebalances per hour, findings, and the list with its filters.

import { groupLink, sameView } from "./address.js";
import { rebalancesPerHour } from "./charts.js";
import { causeWords, stateClass } from "./colours.js";
import { bdi, count, counted, el, moment, show, table } from "./dom.js";
import { findings } from "./findings.js";
import { age, lagCell, lagClass, records } from "./lag.js";
import { now } from "./live.js";
import { get } from "./main.js";
import { ago, dateTime, duration } from "./times.js";

// A narrow window shows a group as a list of its own.
const pageSize = () => (matchMedia("(max-width: 600px)").matches ? 25 : 100);
const FINDINGS_SHOWN = 3;
const STORMS_SHOWN = 3;
const STATES = ["Stable", "PreparingRebalance", "CompletingRebalance", "Empty", "Dead"];
const SORTS = ["lag", "age", "latest", "rebalances", "findings", "members", "group", "state"];

export async function overviewPage(parameters) {
  const search = parameters.get("search") || "";
  const state = parameters.get("state") || "";
  const sort = parameters.get("sort") || "lag";
  const showsDead = parameters.has("dead") || state === "Dead";
  const offset = Number(parameters.get("offset")) || 0;
  const query = new URLSearchParams({ search, state, sort, offset, limit: pageSize(), dead: showsDead ? "shown" : "hidden" });
  const [overview, groups] = await Promise.all([get("/api/overview"), get(`/api/groups?${query}`)]);
  const box = document.getElementById("query");
  if (document.activeElement !== box) box.value = search;
  if (overview.groups === 0) return show("No groups yet", el("h1", {}, "No groups yet"), nothingYet(overview.progress));
  const hasEvents = overview.progress.has_events;
  const chart = el("div", { class: "chart", id: "per-hour", role: "img", "aria-label": hoursWords(overview.rebalances_per_hour) });
  show(
    search ? `“${search}”` : "Overview",
    el("h1", {}, "Consumer groups"),
    overview.lag.problem ? el("p", { class: "bad" }, `No newer lag: ${overview.lag.problem}`) : null,
    overview.lag.groups_left_out ? el("p", { class: "warn" }, `The lag of at least ${count(overview.lag.groups_left_out)} groups is not read: they are too many.`) : null,
    hasEvents ? null : el("p", { class: "quiet" }, "This server has no audit topic, so what is shown of groups is their lag and their members now, and no rebalances."),
    cards(overview),
    overview.storms.length ? el("section", { id: "storms" }, el("h2", {}, `Storms, last day (${count(overview.storms_total)})`), folded("storms-more", overview.storms, STORMS_SHOWN, storms)) : null,
    overview.findings.length ? el("section", { id: "findings" }, el("h2", {}, `Findings (${count(overview.findings_total)})`), folded("findings-more", overview.findings, FINDINGS_SHOWN, (list) => findings(list)), overview.findings_total > overview.findings.length ? el("p", { class: "quiet" }, `Here are ${count(overview.findings.length)}; sort the list by findings to see whose the others are.`) : null) : null,
    el("section", {},
      el("h2", {}, search || state ? `${counted(groups.total, "group")} found` : "All groups"),
      filters(overview, state, sort, showsDead),
      list(groups.groups, hasEvents, sort),
      pages(groups.total, offset)),
    hasEvents ? el("div", { class: "columns" },
      el("section", {}, el("h2", {}, "Rebalances per hour, last day"), chart, el("p", { class: "quiet" }, hoursWords(overview.rebalances_per_hour))),
      el("section", {}, el("h2", {}, "Most rebalances in the last hour"), worst(overview.worst))) : null,
  );
  if (hasEvents) rebalancesPerHour(chart, overview.rebalances_per_hour);
}

const opened = new Set(); // what stays open when the page is drawn again

// The first ones, and the others behind a line to open: the list of groups is never far down.
function folded(id, rows, shown, draw) {
  if (rows.length <= shown) return draw(rows);
  const toggle = (event) => (event.target.open ? opened.add(id) : opened.delete(id));
  return [draw(rows.slice(0, shown)), el("details", { open: opened.has(id), ontoggle: toggle }, el("summary", { id }, `${count(rows.length - shown)} more`), draw(rows.slice(shown)))];
}

const card = (value, words) => el("div", { class: "card" }, el("b", {}, value), words);

const cards = (overview) => el("div", { class: "cards" },
  card(el("span", { class: lagClass(overview.lag.lag) }, records(overview.lag.lag)), "records of lag"),
  card(count(overview.lag.groups_behind), "groups behind"),
  card(count(overview.groups - (overview.states.Dead ?? 0)), "groups"),
  card(count(overview.members), "members"),
  STATES.filter((name) => overview.states[name]).map((name) => card(count(overview.states[name]), el("a", { href: sameView({ state: name, offset: "" }), class: stateClass(name) }, name))),
  overview.progress.has_events ? card(count(overview.findings_total), "findings") : null);

function filters(overview, state, sort, showsDead) {
  const choose = (id, values, chosen, onChange, none) => el("select", { id, onchange: (event) => onChange(event.target.value) },
    values.map((value) => el("option", { value, selected: value === chosen }, value || none)));
  const dead = overview.states.Dead ?? 0;
  return el("div", { class: "bar" },
    el("label", {}, "State ", choose("choose-state", ["", ...STATES], state, (value) => { location.hash = sameView({ state: value, offset: "" }); }, "any")),
    el("label", {}, "Sort by ", choose("choose-sort", SORTS, sort, (value) => { location.hash = sameView({ sort: value, offset: "" }); })),
    dead && state !== "Dead" ? el("label", {}, el("input", { id: "dead", type: "checkbox", checked: showsDead, onchange: (event) => { location.hash = sameView({ dead: event.target.checked ? "1" : "", offset: "" }); } }), ` show ${counted(dead, "dead group")}`) : null,
    el("a", { href: "#/topics" }, "Topics"));
}

function nothingYet(progress) {
  if (!progress.is_live) return el("p", { class: "quiet" }, "The events are being read. Groups appear here as soon as one is found.");
  if (!progress.has_events) return el("p", { class: "quiet" }, "The server has no groups.");
  if (!progress.is_following) return el("p", { class: "quiet" }, "The tables hold no events.");
  return el("p", { class: "quiet" }, "The audit topic holds no events. Let a consumer join a group, and it appears here within a second.");
}

function hoursWords(hours) {
  const total = hours.reduce((sum, hour) => sum + hour[1], 0);
  const most = hours.reduce((one, other) => (other[1] > one[1] ? other : one), [0, 0]);
  return total ? `${counted(total, "rebalance")} in 24 hours, the most (${count(most[1])}) in the hour from ${dateTime(most[0])}.` : "No rebalances in 24 hours.";
}

function worst(rows) {
  if (!rows.length) return el("p", { class: "quiet" }, "No group rebalanced in the last hour.");
  return table([
    { head: "group", name: true, cell: (row) => el("a", { href: groupLink(row.group_id) }, bdi(row.group_id)) },
    { head: "rebalances", number: true, cell: (row) => count(row.rebalances_last_hour) },
    { head: "last cause", words: true, cell: (row) => causeWords(row.last_cause) },
    { head: "without owner", number: true, cell: (row) => duration(row.unowned_partition_ms) },
  ], rows);
}

function storms(found) {
  return table([
    { head: "began", cell: (storm) => moment(storm.from_ms, dateTime(storm.from_ms)) },
    { head: "whose", name: true, cell: (storm) => (storm.group_id === null ? [`${count(storm.group_count)} groups: `, stormGroups(storm)] : el("a", { href: groupLink(storm.group_id) }, bdi(storm.group_id))) },
    { head: "rebalances", number: true, cell: (storm) => count(storm.rebalances) },
    { head: "in", number: true, cell: (storm) => duration(storm.until_ms - storm.from_ms) },
    { head: "because", words: true, cell: (storm) => storm.causes.map(([cause, times]) => `${causeWords(cause)} (${count(times)})`).join(", ") },
  ], found);
}

function stormGroups(storm) {
  const shown = storm.groups.map(([name, times], index) => [index ? ", " : null, el("a", { href: groupLink(name) }, bdi(name)), ` (${count(times)})`]);
  return [...shown, storm.group_count > storm.groups.length ? ` and ${count(storm.group_count - storm.groups.length)} more` : null];
}

// The heads that sort; the server does it, because the list may have more rows than are here.
const sortable = (columns, sort) => columns.map((column) => (column.sort ? {
  ...column, direction: column.sort !== sort ? "none" : column.sort === "group" || column.sort === "state" ? "ascending" : "descending",
  label: el("a", { id: `sort-${column.sort}`, href: sameView({ sort: column.sort, offset: "" }), title: `Sort by ${column.head}` }, column.head),
} : column));

function list(rows, hasEvents, sort) {
  if (!rows.length) return el("p", { class: "quiet" }, "No group matches.");
  const at = now();
  return table(sortable([
    { head: "group", name: true, sort: "group", cell: (row) => el("a", { href: groupLink(row.group_id) }, bdi(row.group_id)) },
    { head: "lag", number: true, sort: "lag", cell: lagCell },
    { head: "age", number: true, sort: "age", cell: (row) => age(row.lag_ms) },
    { head: "state", sort: "state", cell: (row) => el("span", { class: `state ${stateClass(row.state)}` }, row.state || "Unknown") },
    { head: "members", number: true, sort: "members", cell: (row) => count(row.members) },
    ...(hasEvents ? past(at) : []),
  ], sort), rows);
}

// What the audit topic tells of the groups in the list.
const past = (at) => [
  { head: "generation", number: true, cell: (row) => count(row.generation_id) },
  { head: "rebalances, last hour", number: true, sort: "rebalances", cell: (row) => count(row.rebalances_last_hour) },
  { head: "last rebalance", words: true, sort: "latest", cell: (row) => moment(row.last_rebalance_ms, ago(row.last_rebalance_ms, at)) },
  { head: "because", words: true, cell: (row) => (row.last_cause ? causeWords(row.last_cause) : "") },
  { head: "findings", number: true, sort: "findings", cell: (row) => (row.findings ? el("b", { class: "warn" }, count(row.findings)) : "") },
];

function pages(total, offset) {
  const size = pageSize();
  if (total <= size) return null;
  return el("nav", { class: "bar", "aria-label": "Pages of the list" },
    offset > 0 ? el("a", { id: "page-before", href: sameView({ offset: Math.max(0, offset - size) || "" }) }, "← before") : null,
    el("span", { class: "quiet" }, `${count(offset + 1)} to ${count(Math.min(total, offset + size))} of ${count(total)}`),
    offset + size < total ? el("a", { id: "page-next", href: sameView({ offset: offset + size }) }, "next →") : null);
}
