// One group: its lag, its timelines, its generations, who owned which partition, and its members.

import { generationLink, link, memberLink, topicLink } from "./address.js";
import { actionsSection } from "./actions.js";
import { memberLanes, partitionLanes, timeline } from "./charts.js";
import { causeColour, causeWords, EMPTY_COLOUR, GAP_COLOUR, memberColours, stateClass } from "./colours.js";
import { bdi, count, counted, el, firstUpper, moment, short, show, table, wordFor, wordsFor } from "./dom.js";
import { longTable } from "./longtable.js";
import { commandLine } from "./command.js";
import { findings } from "./findings.js";
import { differenceOf, storyOf } from "./generation.js";
import { fact, lagElement, lagFacts, lagSection } from "./lag.js";
import { now } from "./live.js";
import { get, onLag, refresh } from "./main.js";
import { slider } from "./past.js";
import { recordsSection } from "./records.js";
import { endOf, rangePicker, timeSpan } from "./range.js";
import { laneTable, ownerTable } from "./spans.js";
import { ago, dateTime, duration, shortTime } from "./times.js";

const LANES_AT_FIRST = 30;
const LANES_AT_FIRST_NARROW = 8;
const LANES_MAX = 300; // more make a picture that browsers do not draw
const LISTED = 14;
const LISTED_BESIDE = 5; // of what stands beside the rebalances

const manyLanes = new Set(); // the charts that show as many lanes as they can, which stay so when the page is drawn again

export async function groupPage(groupId, chosen, parameters) {
  const path = encodeURIComponent(groupId);
  const group = await get(`/api/groups/${path}`);
  const compared = parameters.get("compare");
  const wanted = chosen ?? group.generations.at(-1)?.generation_id ?? null;
  const [ownership, generation, difference] = await Promise.all([
    get(`/api/ownership/${path}`),
    wanted === null ? null : get(`/api/generation/${wanted}/${path}`).catch((problem) => ({ missing: problem.message })),
    compared === null || wanted === null ? null : get(`/api/diff/${Number(compared)}/${wanted}/${path}`).catch((problem) => ({ missing: problem.message })),
  ]);
  const { generations } = group;
  const end = endOf(group);
  const lag = lagElement(groupId);
  const lagCards = el("span", { class: "group" }, lagFacts(group));
  const actions = group.actions_allowed && group.state !== "Dead" ? actionsSection(groupId, group.topics) : null;
  const history = generations.length ? pastOf({ groupId, group, ownership, generation, difference, wanted, end, range: parameters.get("range") }) : null;
  show(
    groupId,
    el("h1", {}, bdi(groupId), " ", el("span", { class: `state ${stateClass(group.state)}` }, group.state)),
    el("div", { class: "cards" }, lagCards, facts(group)),
    generations.length ? null : commandLine(group.command),
    warnings(group),
    group.state === "Dead" ? el("p", { class: "quiet" }, group.gone ? `Gone: ${group.gone}. ` : "", "Its last event was ", moment(group.last_ms, ago(group.last_ms, now())), ".") : null,
    el("h2", {}, "Lag"), lag,
    group.findings_list.length ? el("section", { id: "findings" }, el("h2", {}, "Findings"), findings(group.findings_list, groupId)) : null,
    recordsSection(groupId, group.records),
    history ? history.content : el("p", { class: "quiet" }, group.has_events ? "The group has not rebalanced yet." : "The audit topic has no events of this group, so nothing is known of its rebalances."),
    group.has_events ? [el("h2", {}, "Members now"), membersNow(groupId, group.members_now), rejected(group), resets(group)] : null,
    actions,
  );
  if (history) history.draw();
  const drawLag = lagSection(groupId, lag, lagCards, null, generations);
  onLag(drawLag);
  await drawLag();
}

const facts = (group) => [
  fact(count(group.members), "members"),
  group.has_events ? [
    fact(count(group.generation_id), group.generations.length && group.generations.at(-1).is_epoch ? "group epoch" : "generation"),
    fact(count(group.rebalances_last_hour), "rebalances, last hour"),
    fact(moment(group.last_rebalance_ms, ago(group.last_rebalance_ms, now())), "last rebalance"),
    fact(duration(group.unowned_partition_ms), "partition time without owner"),
  ] : null,
];

// All that the events tell: its elements, and the function that draws their charts once they are in the page.
function pastOf({ groupId, group, ownership, generation, difference, wanted, end, range }) {
  const { generations, lanes } = group;
  const span = timeSpan(generations, end, range);
  const memberLanesOf = `members of ${groupId}`;
  const partitionLanesOf = `partitions of ${groupId}`;
  const partitions = ownership.partitions.slice(0, lanesShown(partitionLanesOf));
  const within = lanes.filter((each) => each.spans.some(([, to]) => to === null || to >= span[0]));
  const members = within.slice(0, lanesShown(memberLanesOf));
  const left = group.lanes_total - lanes.length;
  const colours = memberColours([...lanes.map((each) => each.member.name), ...ownership.partitions.flatMap((each) => each.spans.map((one) => one[2]))]);
  const chart = (id, words) => el("div", { class: "chart", id, role: "img", "aria-label": words });
  const charts = { timeline: chart("timeline", timelineWords(generations, end)), members: chart("members", `Members over time: ${counted(group.lanes_total, "member")}`), partitions: chart("partitions", `Owners of ${counted(ownership.total, "partition")} over time`) };
  const content = [
    el("h2", {}, firstUpper(wordsFor(generations))), rangePicker(range), legend(generations), charts.timeline,
    el("p", { class: "quiet" }, timelineWords(generations, end)),
    el("div", { class: "columns" },
      el("section", { id: "story" }, el("h2", {}, firstUpper(generations.find((each) => each.generation_id === wanted)?.name ?? `generation ${wanted}`)), storyOf(groupId, generation, generations)),
      el("section", {}, el("h2", {}, "List"), list(groupId, generations, wanted, end))),
    difference && el("section", { id: "difference" }, differenceOf(groupId, difference)),
    el("h2", {}, `Members over time${more(members.length, within.length + left)}`), charts.members, moreLanes("members-more", memberLanesOf, members.length, within.length), laneTable(groupId, lanes), left ? el("p", { class: "quiet" }, `The lanes of ${counted(left, "more member")} are left out: these are of those that were here last.`) : null,
    ...(ownership.total ? [
      el("h2", {}, `Who owned which partition${more(partitions.length, ownership.total)}`),
      el("div", { class: "legend" }, el("span", {}, "One colour per member"), swatch(GAP_COLOUR, "nobody"), swatch(EMPTY_COLOUR, "the group was empty")),
      charts.partitions, moreLanes("partitions-more", partitionLanesOf, partitions.length, ownership.partitions.length), ownerTable(groupId, ownership),
      el("h2", {}, "At a moment in the past"), slider(groupId, generations, ownership, end),
    ] : [el("p", { class: "quiet" }, "No partition has been assigned by name.")]),
  ];
  const draw = () => {
    timeline(charts.timeline, generations, span, wanted, (id) => { location.hash = link(generationLink(groupId, id), { compare: "" }); });
    memberLanes(charts.members, members, span, colours, (id) => { location.hash = memberLink(groupId, id); });
    if (ownership.total) partitionLanes(charts.partitions, partitions, ownership.empty, span, colours);
  };
  return { content, draw };
}

const swatch = (colour, words) => el("span", {}, el("i", { style: `background:${colour}` }), words);
const more = (shown, total) => (total > shown ? ` (the first ${count(shown)} of ${count(total)})` : "");

const isNarrow = () => matchMedia("(max-width: 600px)").matches;
const lanesShown = (chart) => (manyLanes.has(chart) ? LANES_MAX : isNarrow() ? LANES_AT_FIRST_NARROW : LANES_AT_FIRST);

// A button for more lanes of a chart, or for fewer.
function moreLanes(id, chart, shown, known) {
  const isLong = manyLanes.has(chart);
  if (!isLong && known <= shown) return null;
  const toggle = () => { if (isLong) manyLanes.delete(chart); else manyLanes.add(chart); refresh(); };
  return el("button", { type: "button", id, onclick: toggle }, isLong ? "show fewer lanes" : `show ${count(Math.min(LANES_MAX, known))} lanes`);
}

// What the timeline shows, in a sentence.
function timelineWords(generations, end) {
  const first = generations.find((each) => each.started_ms !== null);
  const failed = generations.filter((each) => each.outcome !== "stable").length;
  const since = first ? ` since ${shortTime(first.started_ms, end)}` : "";
  const named = generations.length === 1 ? generations[0].name.replace(/ \d+$/, "") : wordsFor(generations);
  return `${count(generations.length)} ${named}${since}; ${failed ? `${count(failed)} did not become stable` : "all became stable"}.`;
}

function warnings(group) {
  const words = [];
  if (group.begins_in_the_middle) words.push("The events before the first one shown were deleted by retention or have not been read.");
  for (const gap of group.gaps.slice(-3)) words.push(`Events ${gap[0]} to ${gap[1]} are missing before ${dateTime(gap[2])}.`);
  return words.map((each) => el("p", { class: "warn" }, each));
}

function legend(generations) {
  const causes = [...new Set(generations.map((each) => each.cause))].filter(Boolean);
  return el("div", { class: "legend" }, causes.map((cause) => swatch(causeColour(cause), causeWords(cause))),
    el("span", {}, el("i", { class: "failed" }), "did not become stable"),
    el("span", {}, el("i", { class: "chosen" }), "chosen"));
}

// The newest generations, or those around the chosen one.
function list(groupId, generations, chosen, end) {
  const index = generations.findIndex((each) => each.generation_id === chosen);
  const last = Math.min(generations.length, Math.max(LISTED, generations.length - index > LISTED ? index + 13 : generations.length));
  const rows = generations.slice(Math.max(0, last - LISTED), last).reverse();
  return [
    table([
      { head: wordFor(generations), number: true, cell: (each) => el("a", { href: link(generationLink(groupId, each.generation_id), { compare: "" }) }, each.generation_id) },
      { head: "began", cell: (each) => moment(each.started_ms, shortTime(each.started_ms, end)) },
      { head: "because", words: true, cell: (each) => [causeWords(each.cause), each.member ? el("span", { class: "quiet" }, " ", short(each.member)) : null] },
      { head: "outcome", cell: (each) => el("span", { class: each.outcome === "stable" ? "good" : "warn" }, each.outcome.replaceAll("_", " ")) },
      { head: "took", number: true, cell: (each) => duration(each.rebalance_ms) },
      { head: "moved", number: true, cell: (each) => (each.partitions === null ? "" : `${count(each.partitions_moved)} of ${count(each.partitions)}`) },
    ], rows, { row: (each) => (each.generation_id === chosen ? { class: "chosen", "aria-current": "true" } : {}) }),
    generations.length > rows.length ? el("p", { class: "quiet" }, `${count(rows.length)} of ${count(generations.length)}; the timeline has all.`) : null,
  ];
}

const clientOf = ({ member }) => [member.client_software_name, member.client_software_version].filter(Boolean).join(" ") || null;

function membersNow(groupId, members) {
  if (!members.length) return el("p", { class: "quiet" }, "The group has no members.");
  return longTable(`members now of ${groupId}`, [
    { head: "member", name: true, by: (each) => each.member.name, cell: (each) => el("a", { href: memberLink(groupId, each.member.member_id), title: each.member.member_id }, short(each.member.name)) },
    { head: "host", by: (each) => each.member.client_host, cell: (each) => bdi(each.member.client_host) },
    { head: "client", by: clientOf, cell: (each) => bdi(clientOf(each)) },
    { head: "session timeout", number: true, by: (each) => each.session_timeout_ms, cell: (each) => duration(each.session_timeout_ms) },
    { head: "last joined", by: (each) => each.joined_ms, cell: (each) => moment(each.joined_ms, dateTime(each.joined_ms)) },
    { head: "partitions", number: true, by: (each) => each.partitions, cell: (each) => count(each.partitions) },
    { head: "topics", name: true, cell: (each) => topics(each.subscribed_topics) },
  ], members, { find: (each) => `${each.member.name} ${each.member.member_id} ${each.member.client_host}` });
}

const TOPICS_SHOWN = 8;

export function topics(list, most = TOPICS_SHOWN) {
  const shown = list.slice(0, most).flatMap((topic, index) => [index ? ", " : null, el("a", { href: topicLink(topic) }, short(topic))]);
  return list.length > most ? [...shown, ` and ${count(list.length - most)} more`] : shown;
}

function rejected(group) {
  if (!group.rejected.length) return null;
  return el("section", {}, el("h2", {}, "Rejected requests"), longTable(`rejected in ${group.group_id}`, [
    { head: "when", cell: (each) => moment(each.time_ms, dateTime(each.time_ms)) }, { head: "request", cell: (each) => each.api }, { head: "error", cell: (each) => each.error },
    { head: "from", name: true, cell: (each) => [bdi(each.member.client_id), " ", bdi(each.member.client_host)] }, { head: "so far", number: true, cell: (each) => count(each.count) },
  ], group.rejected.slice(-50).reverse(), { first: LISTED_BESIDE }));
}

const RESET_PARTITIONS_SHOWN = 20;

function resets(group) {
  if (!group.resets.length) return null;
  return el("section", {}, el("h2", {}, "Offset resets"), longTable(`resets in ${group.group_id}`, [
    { head: "when", cell: (each) => moment(each.time_ms, dateTime(each.time_ms)) },
    { head: "by", name: true, cell: (each) => [each.requested_by.principal, each.requested_by.client_id, each.requested_by.client_host].filter(Boolean).map((known) => [bdi(known), " "]) },
    { head: "offsets", name: true, cell: offsetsOf },
  ], group.resets.slice(-50).reverse(), { first: LISTED_BESIDE }));
}

function offsetsOf(reset) {
  const all = Object.entries(reset.partitions).flatMap(([topic, of]) => of.map(([partition, from, to]) => [`${topic}-${partition}`, ` ${from} → ${to}`]));
  const shown = all.slice(0, RESET_PARTITIONS_SHOWN).map(([name, change]) => el("div", {}, short(name), change));
  return all.length > shown.length ? [...shown, `and ${count(all.length - shown.length)} more`] : shown;
}
