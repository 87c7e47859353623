// The groups that consume one topic, and the list of all topics that a group consumes.

import { groupLink, topicLink } from "./address.js";
import { stateClass } from "./colours.js";
import { bdi, count, counted, el, moment, short, show } from "./dom.js";
import { longTable } from "./longtable.js";
import { age, fact, lagClass, records } from "./lag.js";
import { now } from "./live.js";
import { get } from "./main.js";
import { ago } from "./times.js";

const ROWS_AT_FIRST = 50;

const lagColumn = (address) => ({ head: "lag", number: true, by: (row) => row.lag, cell: (row) => el("a", { href: address(row), class: lagClass(row.lag) }, el("b", {}, records(row.lag))) });

export async function topicPage(topic) {
  const found = await get(`/api/topics/${encodeURIComponent(topic)}`);
  show(
    topic,
    el("p", {}, el("a", { href: "#/topics" }, "← Topics")),
    el("h1", {}, bdi(topic)),
    el("div", { class: "cards" },
      fact(el("span", { class: lagClass(found.lag) }, records(found.lag)), "records of lag"),
      fact(age(found.lag_ms), "age of the oldest"),
      fact(count(found.groups_total), "groups")),
    found.lag_problem ? el("p", { class: "bad" }, `No newer lag: ${found.lag_problem}`) : null,
    el("h2", {}, `Groups that consume it${found.groups_total > found.groups.length ? ` (the ${count(found.groups.length)} with the most lag, of ${count(found.groups_total)})` : ""}`),
    longTable(`groups of topic ${topic}`, [
      { head: "group", name: true, by: (row) => row.group_id, cell: (row) => el("a", { href: groupLink(row.group_id) }, bdi(row.group_id)) },
      lagColumn((row) => groupLink(row.group_id)),
      { head: "age", number: true, by: (row) => row.lag_ms, cell: (row) => age(row.lag_ms) },
      { head: "state", by: (row) => row.state, cell: (row) => el("span", { class: `state ${stateClass(row.state)}` }, row.state || "Unknown") },
      { head: "partitions with offsets", number: true, by: (row) => row.partitions_committed, cell: (row) => count(row.partitions_committed) },
      { head: "partitions owned", number: true, by: (row) => row.partitions_owned, cell: (row) => count(row.partitions_owned) },
      { head: "members subscribed", number: true, by: (row) => row.members_subscribed, cell: (row) => count(row.members_subscribed) },
      { head: "last commit", by: (row) => row.moved_ms, cell: (row) => (row.moved_ms === null ? el("span", { class: "quiet" }, "–") : moment(row.moved_ms, ago(row.moved_ms, now()))) },
    ], found.groups, { find: (row) => row.group_id, first: ROWS_AT_FIRST }),
  );
}

export async function topicsPage() {
  const found = await get("/api/topics");
  show(
    "Topics",
    el("p", {}, el("a", { href: "#/" }, "← Groups")),
    el("h1", {}, "Topics"),
    el("p", { class: "quiet" }, found.total ? `${counted(found.total, "topic")} that groups consume, by committed offsets or subscription${found.total > found.topics.length ? `; here are the ${count(found.topics.length)} with the most lag` : ""}.` : "No group consumes a topic."),
    found.total ? longTable("topics", [
      { head: "topic", name: true, by: (row) => row.topic, cell: (row) => el("a", { href: topicLink(row.topic) }, short(row.topic)) },
      lagColumn((row) => topicLink(row.topic)),
      { head: "age", number: true, by: (row) => row.lag_ms, cell: (row) => age(row.lag_ms) },
      { head: "groups", number: true, by: (row) => row.groups, cell: (row) => count(row.groups) },
    ], found.topics, { find: (row) => row.topic, first: ROWS_AT_FIRST }) : null,
  );
}
