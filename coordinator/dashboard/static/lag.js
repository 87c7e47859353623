// Lag: how far committed offsets are behind the ends of the logs, in records, and how old the oldest of those records is.

import { lagChart, lagSpan } from "./charts.js";
import { groupLink, memberLink, topicLink } from "./address.js";
import { bdi, count, counted, el, moment, redraw, short } from "./dom.js";
import { longTable } from "./longtable.js";
import { ago, duration } from "./times.js";
import { now } from "./live.js";
import { get } from "./main.js";

const MARKED_MAX = 100; // rebalances in the chart
let chosen = null; // the partition whose last hour is shown: {group, topic, partition}; null: all of them

export const lagClass = (lag) => (lag ? "warn" : lag === 0 ? "good" : "quiet");
export const records = (lag) => (lag === null || lag === undefined ? "–" : count(lag));
export const age = (ms) => (ms === null || ms === undefined ? "–" : ms === 0 ? "0 s" : duration(ms));

// The element of `lagSection`. It shows what the one before it in the page shows, if that is of the same group and member.
export function lagElement(groupId, memberId = "") {
  const of = [groupId, memberId].map(encodeURIComponent).join("/");
  const before = document.getElementById("lag");
  return el("div", { id: "lag", "data-of": of }, before?.dataset.of === of ? [...before.childNodes] : null);
}

// The lag of a group in an element that is filled again with each sample; a member's own when one is named.
// `facts` shows the lag of all of it; `generations` are marked where their rebalances began.
export function lagSection(groupId, element, facts, memberId = null, generations = []) {
  const path = encodeURIComponent(groupId);
  const draw = async () => {
    const isChosen = chosen !== null && chosen.group === groupId;
    const [lag, history] = await Promise.all([
      memberId === null ? get(`/api/lag/${path}`) : get(`/api/member/${path}?member_id=${encodeURIComponent(memberId)}`).then((member) => member.lag),
      isChosen ? get(`/api/lag-history/${chosen.partition}/${path}?topic=${encodeURIComponent(chosen.topic)}`) : null,
    ]).catch((problem) => [{ missing: problem.message }, null]);
    if (!element.isConnected) return;
    if (!lag || lag.missing) return redraw(element, el("p", { class: "quiet" }, lag ? lag.missing : "The member owns nothing now."));
    redraw(facts, lagFacts(lag));
    const points = history ?? lag.history;
    const chart = el("div", { class: "chart", id: "lag-chart", role: "img", "aria-label": `Lag in the last hour: ${trend(points)}` });
    const [from, to] = lagSpan(points, now());
    const marked = generations.filter((each) => each.started_ms !== null && from <= each.started_ms && each.started_ms <= to);
    const again = () => draw();
    redraw(element,
      lag.problem ? el("p", { class: "bad" }, `No newer lag: ${lag.problem}`) : null,
      el("div", { class: "bar" },
        el("span", {}, el("b", {}, "Last hour: "), isChosen ? bdi(`${chosen.topic}-${chosen.partition}`) : memberId === null ? "all partitions" : "its partitions"),
        isChosen ? el("button", { type: "button", id: "lag-all", onclick: () => { chosen = null; again(); } }, "all partitions") : null,
        el("span", { class: "quiet" }, trend(points))),
      lag.history.length ? chart : null,
      lag.history.length && marked.length ? el("p", { class: "quiet", id: "lag-marks" }, marksWords(marked)) : null,
      memberId === null && lag.members.length ? el("section", {}, el("h2", {}, `Lag by member${more(lag.members.length, lag.members_total)}`), members(groupId, lag.members)) : null,
      el("h2", {}, `Lag by partition${more(lag.partitions.length, lag.partitions_total)}`),
      topicsOf(lag.partitions),
      lag.partitions.length ? partitions(groupId, lag.partitions, memberId, (each) => { chosen = { group: groupId, topic: each.topic, partition: each.partition }; again(); }) : el("p", { class: "quiet" }, "No partition is assigned, and no offset is committed."),
    );
    if (lag.history.length) lagChart(chart, points, [from, to], marked.slice(-MARKED_MAX));
  };
  return draw;
}

export const fact = (value, words) => el("div", { class: "card" }, el("b", {}, value || "–"), words);

export const lagFacts = ({ lag, lag_ms: ageMs }) => [
  fact(el("span", { class: lagClass(lag) }, records(lag)), "records of lag"),
  fact(age(ageMs), "age of the oldest"),
];

const TOPICS_SHOWN = 20;

function topicsOf(rows) {
  const all = [...new Set(rows.map((each) => each.topic))].sort();
  if (!all.length) return null;
  const shown = all.slice(0, TOPICS_SHOWN).map((topic, index) => [index ? ", " : null, el("a", { href: topicLink(topic) }, short(topic))]);
  return el("p", {}, all.length === 1 ? "Topic: " : "Topics: ", shown, all.length > shown.length ? ` and ${count(all.length - shown.length)} more` : null);
}

// The lines in the chart, in a sentence.
const marksWords = (marked) => {
  const shown = marked.slice(-MARKED_MAX);
  const which = shown.length < marked.length ? `the newest ${count(shown.length)} of ${count(marked.length)} rebalances` : shown.length === 1 ? "a rebalance" : counted(shown.length, "rebalance");
  return `${shown.length === 1 ? "The upright dashed line is" : "The upright dashed lines are"} where ${which} began.`;
};

const more = (shown, total) => (total > shown ? ` (the ${count(shown)} with the most, of ${count(total)})` : "");

function trend(points) {
  if (!points.length) return "No lag is known.";
  const known = points.filter((point) => point[1] !== null);
  if (known.length < 2) return "One sample so far.";
  const [first, last] = [known[0], known.at(-1)];
  const change = last[1] - first[1];
  const words = change === 0 ? "unchanged" : `${count(Math.abs(change))} records ${change > 0 ? "more" : "less"}`;
  return `${records(last[1])} records; ${words} than ${ago(first[0], last[0])}`.replace("unchanged than", "the same as");
}

function members(groupId, rows) {
  return longTable(`lag by member of ${groupId}`, [
    { head: "member", name: true, by: (each) => each.name, cell: (each) => el("a", { href: memberLink(groupId, each.member_id), title: each.member_id }, short(each.name)) },
    { head: "lag", number: true, by: (each) => each.lag, cell: (each) => el("b", { class: lagClass(each.lag) }, records(each.lag)) },
    { head: "age", number: true, by: (each) => each.lag_ms, cell: (each) => age(each.lag_ms) },
    { head: "partitions", number: true, by: (each) => each.partitions_owned, cell: (each) => count(each.partitions_owned) },
    { head: "host", by: (each) => each.client_host, cell: (each) => bdi(each.client_host) },
    { head: "last commit", words: true, by: (each) => each.moved_ms, cell: (each) => moved(each.moved_ms) },
  ], rows, { find: (each) => `${each.name} ${each.member_id} ${each.client_host}` });
}

function partitions(groupId, rows, memberId, onChoose) {
  const withMember = memberId === null;
  return longTable(`lag by partition of ${memberId ?? ""} of ${groupId}`, [
    { head: "partition", name: true, by: (each) => `${each.topic}-${each.partition}`, cell: (each) => el("button", { type: "button", class: "link", id: `lag-of-${encodeURIComponent(each.topic)}-${each.partition}`, title: "Show its last hour", onclick: () => onChoose(each) }, short(`${each.topic}-${each.partition}`)) },
    { head: "lag", number: true, by: (each) => each.lag, cell: (each) => el("b", { class: lagClass(each.lag) }, records(each.lag)) },
    { head: "age", number: true, by: (each) => each.lag_ms, cell: (each) => age(each.lag_ms) },
    { head: "committed offset", number: true, by: (each) => each.committed_offset, cell: (each) => records(each.committed_offset) },
    { head: "log end offset", number: true, by: (each) => each.log_end_offset, cell: (each) => records(each.log_end_offset) },
    withMember ? { head: "member", name: true, by: (each) => each.member, cell: (each) => (each.member_id === null ? el("span", { class: "quiet" }, "nobody") : el("a", { href: memberLink(groupId, each.member_id) }, short(each.member))) } : null,
    withMember ? { head: "host", by: (each) => each.host, cell: (each) => bdi(each.host) } : null,
    { head: "last commit", words: true, by: (each) => each.moved_ms, cell: (each) => moved(each.moved_ms) },
  ].filter(Boolean), rows, { find: (each) => `${each.topic}-${each.partition} ${each.member ?? "nobody"}` });
}

// When the committed offset last moved, as far as it was watched.
const moved = (ms) => (ms === null ? el("span", { class: "quiet" }, "not since watched") : moment(ms, ago(ms, now())));

export const lagCell = (row) => el("a", { href: groupLink(row.group_id), class: lagClass(row.lag) }, el("b", {}, records(row.lag)));
