// All groups: states, rebalances per hour, findings, and the list with its filters.

import { rebalancesPerHour } from "./charts.js";
import { causeWords, stateClass } from "./colours.js";
import { ago, bdi, count, dateTime, duration, el, groupLink, show, table, visible } from "./dom.js";
import { findings } from "./findings.js";
import { age, lagCell, lagClass, records } from "./lag.js";
import { now } from "./live.js";
import { get } from "./main.js";

const PAGE = 100;
const STATES = ["Stable", "PreparingRebalance", "CompletingRebalance", "Empty", "Dead"];

export async function overviewPage(parameters) {
  const search = parameters.get("search") || "";
  const state = parameters.get("state") || "";
  const sort = parameters.get("sort") || "lag";
  const offset = Number(parameters.get("offset") || 0);
  const query = new URLSearchParams({ search, state, sort, offset, limit: PAGE });
  const [overview, groups] = await Promise.all([get("/api/overview"), get(`/api/groups?${query}`)]);
  const box = document.getElementById("query");
  if (document.activeElement !== box) box.value = search;
  const at = (changes) => `#/?${new URLSearchParams({ search, state, sort, offset: 0, ...changes })}`;
  if (overview.groups === 0) return show(el("h1", {}, "No groups yet"), nothingYet(overview.progress));
  const chart = el("div", { class: "chart", id: "per-hour", role: "img", "aria-label": "Rebalances per hour" });
  show(
    el("h1", {}, "Consumer groups"),
    overview.lag.problem ? el("p", { class: "bad" }, `No newer lag: ${overview.lag.problem}`) : null,
    overview.lag.groups_left_out ? el("p", { class: "warn" }, `${count(overview.lag.groups_left_out)} groups are too many to be shown with their lag.`) : null,
    overview.progress.has_events ? null : el("p", { class: "quiet" }, "This server has no audit topic, so what is shown of groups is their lag and their members now, and no rebalances."),
    el("div", { class: "cards" },
      card(el("span", { class: lagClass(overview.lag.lag) }, records(overview.lag.lag)), "records of lag"),
      card(count(overview.lag.groups_behind), "groups behind"),
      card(count(overview.groups), "groups"),
      card(count(overview.members), "members"),
      STATES.filter((name) => overview.states[name]).map((name) => card(count(overview.states[name]), el("a", { href: at({ state: name }), class: stateClass(name) }, name))),
      overview.progress.has_events ? card(count(overview.findings_total), "findings") : null),
    overview.storms.length ? el("section", { id: "storms" }, el("h2", {}, `Storms, last day (${count(overview.storms_total)})`), storms(overview.storms)) : null,
    overview.findings.length ? el("section", {}, el("h2", {}, `Findings (${count(overview.findings_total)})`), findings(overview.findings.slice(0, 6), true)) : null,
    el("section", {},
      el("h2", {}, search || state ? `${count(groups.total)} groups found` : "All groups"),
      el("div", { class: "bar" },
        el("label", {}, "State ", choose(["", ...STATES], state, (value) => { location.hash = at({ state: value }); }, "any")),
        el("label", {}, "Sort by ", choose(["lag", "age", "latest", "rebalances", "findings", "members", "group", "state"], sort, (value) => { location.hash = at({ sort: value }); }))),
      list(groups.groups, overview.progress.has_events),
      pages(groups.total, offset, at)),
    overview.progress.has_events ? el("div", { class: "columns" },
      el("section", {}, el("h2", {}, "Rebalances per hour, last day"), chart),
      el("section", {}, el("h2", {}, "Most rebalances in the last hour"), worst(overview.worst))) : null,
  );
  if (overview.progress.has_events) rebalancesPerHour(chart, overview.rebalances_per_hour);
}

const card = (value, words) => el("div", { class: "card" }, el("b", {}, value), words);

function nothingYet(progress) {
  if (!progress.is_live) return el("p", { class: "quiet" }, "The events are being read. Groups appear here as soon as one is found.");
  if (!progress.has_events) return el("p", { class: "quiet" }, "The server has no groups.");
  return el("p", { class: "quiet" }, "The audit topic holds no events. Let a consumer join a group, and it appears here within a second.");
}

function worst(rows) {
  if (!rows.length) return el("p", { class: "quiet" }, "No group rebalanced in the last hour.");
  return table([
    { head: "group", name: true, cell: (row) => el("a", { href: groupLink(row.group_id) }, bdi(row.group_id)) },
    { head: "rebalances", number: true, cell: (row) => count(row.rebalances_last_hour) },
    { head: "last cause", cell: (row) => causeWords(row.last_cause) },
    { head: "without owner", number: true, cell: (row) => duration(row.unowned_partition_ms) },
  ], rows);
}

function storms(found) {
  return table([
    { head: "began", cell: (storm) => dateTime(storm.from_ms) },
    { head: "whose", name: true, cell: (storm) => (storm.group_id === null ? `${count(storm.group_count)} groups: ${storm.groups.map(([name, times]) => `${visible(name)} (${count(times)})`).join(", ")}` : el("a", { href: groupLink(storm.group_id) }, bdi(storm.group_id))) },
    { head: "rebalances", number: true, cell: (storm) => count(storm.rebalances) },
    { head: "in", number: true, cell: (storm) => duration(storm.until_ms - storm.from_ms) },
    { head: "because", cell: (storm) => storm.causes.map(([cause, times]) => `${causeWords(cause)} (${count(times)})`).join(", ") },
  ], found);
}

function list(rows, hasEvents) {
  if (!rows.length) return el("p", { class: "quiet" }, "No group matches.");
  const at = now();
  return table([
    { head: "group", name: true, cell: (row) => el("a", { href: groupLink(row.group_id) }, bdi(row.group_id)) },
    { head: "lag", number: true, cell: lagCell },
    { head: "age", number: true, cell: (row) => age(row.lag_ms) },
    { head: "state", cell: (row) => el("span", { class: `state ${stateClass(row.state)}` }, row.state) },
    { head: "members", number: true, cell: (row) => count(row.members) },
    ...(hasEvents ? past(at) : []),
  ], rows);
}

// What the audit topic tells of the groups in the list.
const past = (at) => [
  { head: "generation", number: true, cell: (row) => count(row.generation_id) },
  { head: "rebalances, last hour", number: true, cell: (row) => count(row.rebalances_last_hour) },
  { head: "last rebalance", cell: (row) => el("span", { title: dateTime(row.last_rebalance_ms) }, ago(row.last_rebalance_ms, at)) },
  { head: "because", cell: (row) => (row.last_cause ? causeWords(row.last_cause) : "") },
  { head: "findings", number: true, cell: (row) => (row.findings ? el("b", { class: "warn" }, count(row.findings)) : "") },
];

function choose(values, chosen, onChange, none) {
  return el("select", { id: `choose-${none || "sort"}`, onchange: (event) => onChange(event.target.value) },
    values.map((value) => el("option", { value, selected: value === chosen }, value || none)));
}

function pages(total, offset, at) {
  if (total <= PAGE) return null;
  return el("div", { class: "bar" },
    offset > 0 ? el("a", { href: at({ offset: Math.max(0, offset - PAGE) }) }, "← before") : null,
    el("span", { class: "quiet" }, `${count(offset + 1)} to ${count(Math.min(total, offset + PAGE))} of ${count(total)}`),
    offset + PAGE < total ? el("a", { href: at({ offset: offset + PAGE }) }, "next →") : null);
}
