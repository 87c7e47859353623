// What became of the records of a share group (KIP-932): each share partition, each member, and the records that nobody gets any more.

import { memberLink } from "./address.js";
import { bdi, count, counted, el, moment, short } from "./dom.js";
import { fact } from "./lag.js";
import { longTable } from "./longtable.js";
import { dateTime, duration } from "./times.js";

const LISTED_BESIDE = 5;

// The words of `ended_by`, as in the sentences of the findings.
const ENDED = {
  rejected: "rejected", released: "released at the limit", lock_ended: "lock ended at the limit",
  closed: "session closed at the limit", disconnected: "disconnected at the limit",
};

const many = (value) => el("span", { class: value ? "warn" : "quiet" }, count(value));
const member = (groupId, { name, member_id: id }) => el("a", { href: memberLink(groupId, id), title: id }, short(name));
const counts = (names) => names.map(([head, name]) => ({ head, number: true, by: (each) => each.counts[name], cell: (each) => many(each.counts[name]) }));
const partitionName = (each) => `${each.topic}-${each.partition}`;

export function recordsSection(groupId, records) {
  if (!records) return null;
  const { counts: sums } = records;
  const of = `of ${groupId}`;
  return el("section", { id: "records" },
    el("h2", {}, "Records"),
    el("p", { class: "quiet" }, "From ", moment(records.from_ms, dateTime(records.from_ms)), " to ", moment(records.until_ms, dateTime(records.until_ms)),
      `; a lock holds for ${duration(records.lock_duration_ms)}, a record is delivered ${counted(records.delivery_count_limit, "time")} at most.`),
    el("div", { class: "cards" },
      fact(count(sums.acquired), "acquired"), fact(count(sums.accepted), "accepted"),
      fact(many(sums.delivered_again), "delivered again"), fact(many(sums.lock_ended), "locks ended"),
      fact(many(sums.rejected), "rejected"), fact(many(sums.archived), "archived at the limit")),
    el("h2", {}, "Share partitions"),
    records.partitions.length ? longTable(`share partitions ${of}`, [
      { head: "partition", name: true, by: partitionName, cell: (each) => bdi(partitionName(each)) },
      { head: "start offset", number: true, by: (each) => each.start_offset, cell: (each) => count(each.start_offset) },
      { head: "lag", number: true, by: (each) => each.lag, cell: (each) => many(each.lag) },
      { head: "in flight", number: true, by: (each) => each.in_flight, cell: (each) => count(each.in_flight) },
      { head: "stands since", by: (each) => each.standing_since_ms, cell: (each) => [moment(each.standing_since_ms, dateTime(each.standing_since_ms)), each.held_by ? [", held by ", member(groupId, each.held_by)] : null] },
      ...counts([["delivered again", "delivered_again"], ["locks ended", "lock_ended"], ["rejected", "rejected"], ["archived", "archived"]]),
      { head: "as of", by: (each) => each.at_ms, cell: (each) => moment(each.at_ms, dateTime(each.at_ms)) },
    ], records.partitions, { find: partitionName }) : null,
    el("p", { class: "quiet" }, records.partitions.length ? "Others" : "All share partitions", " had each record acquired once and accepted, or none.",
      records.partitions_unnamed ? ` ${counted(records.partitions_unnamed, "further share partition")} of an interval could not be named.` : null),
    el("h2", {}, "Records by member"),
    longTable(`records by member ${of}`, [
      { head: "member", name: true, by: (each) => each.member.name, cell: (each) => member(groupId, each.member) },
      { head: "acquired", number: true, by: (each) => each.counts.acquired, cell: (each) => count(each.counts.acquired) },
      { head: "accepted", number: true, by: (each) => each.counts.accepted, cell: (each) => count(each.counts.accepted) },
      ...counts([["released", "released"], ["rejected", "rejected"], ["locks ended", "lock_ended"], ["too late", "late"]]),
    ], records.members, { find: (each) => `${each.member.name} ${each.member.member_id}` }),
    records.members_unnamed ? el("p", { class: "quiet" }, `${counted(records.members_unnamed, "further member")} of an interval could not be named.`) : null,
    records.ended.length ? [el("h2", {}, "Records that nobody gets any more"), longTable(`ended records ${of}`, [
      { head: "when", by: (each) => each.at_ms, cell: (each) => moment(each.at_ms, dateTime(each.at_ms)) },
      { head: "partition", name: true, by: partitionName, cell: (each) => bdi(partitionName(each)) },
      { head: "offsets", number: true, by: (each) => each.first_offset, cell: (each) => (each.first_offset === each.last_offset ? count(each.first_offset) : `${count(each.first_offset)} to ${count(each.last_offset)}`) },
      { head: "delivered", number: true, by: (each) => each.delivery_count, cell: (each) => counted(each.delivery_count, "time") },
      { head: "because", words: true, cell: (each) => ENDED[each.ended_by] ?? each.ended_by },
      { head: "last with", name: true, by: (each) => each.member.name, cell: (each) => member(groupId, each.member) },
    ], [...records.ended].reverse(), { first: LISTED_BESIDE, find: partitionName })] : null,
  );
}
