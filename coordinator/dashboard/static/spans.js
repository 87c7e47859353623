// The lanes of the charts as tables, made when they are opened.

import { memberLink } from "./address.js";
import { count, el, fill, moment, short } from "./dom.js";
import { longTable } from "./longtable.js";
import { dateTime } from "./times.js";

const ROWS_MAX = 2000; // in one table
const opened = new Set(); // the tables that stay open when the page is drawn again

function asTable(groupId, id, makeRows, columns, find) {
  const body = el("div", {});
  const details = el("details", { open: opened.has(id) }, el("summary", { id }, "as a table"), body);
  const draw = () => {
    if (!details.open) return opened.delete(id);
    opened.add(id);
    const rows = makeRows();
    const kept = rows.slice(0, ROWS_MAX);
    fill(body, rows.length > kept.length ? el("p", { class: "quiet" }, `The newest ${count(kept.length)} of ${count(rows.length)}.`) : null, longTable(`${id}-rows of ${groupId}`, columns, kept, { find }));
  };
  details.addEventListener("toggle", draw);
  if (details.open) draw();
  return details;
}

const newestFirst = (one, other) => other.from - one.from;

const from = { head: "from", by: (each) => each.from, cell: (each) => moment(each.from, dateTime(each.from)) };
const to = { head: "to", by: (each) => each.to, cell: (each) => (each.to === null ? "the end" : moment(each.to, dateTime(each.to))) };

export const laneTable = (groupId, lanes) => asTable(groupId, "members-table", () => lanes.flatMap(({ member, spans }) => spans.map(([begin, end, generation, partitions]) => ({ member, from: begin, to: end, generation, partitions }))).sort(newestFirst), [
  { head: "member", name: true, by: (each) => each.member.name, cell: (each) => el("a", { href: memberLink(groupId, each.member.member_id) }, short(each.member.name)) },
  from, to,
  { head: "generation", number: true, by: (each) => each.generation, cell: (each) => count(each.generation) },
  { head: "partitions", number: true, by: (each) => each.partitions, cell: (each) => count(each.partitions) },
], (each) => `${each.member.name} ${each.member.member_id}`);

export const ownerTable = (groupId, ownership) => asTable(groupId, "partitions-table", () => ownership.partitions.flatMap(({ topic, partition, spans }) => spans.map(([begin, end, owner]) => ({ name: `${topic}-${partition}`, from: begin, to: end, owner }))).sort(newestFirst), [
  { head: "partition", name: true, by: (each) => each.name, cell: (each) => short(each.name) },
  { head: "owner", name: true, by: (each) => each.owner, cell: (each) => short(each.owner) },
  from, to,
], (each) => `${each.name} ${each.owner}`);
