// The lanes of the charts as tables, made when they are opened.

import { memberLink } from "./address.js";
import { count, el, fill, moment, short, table } from "./dom.js";
import { dateTime } from "./times.js";

const ROWS_SHOWN = 300;
const opened = new Set(); // the tables that stay open when the page is drawn again

function asTable(id, makeRows, columns) {
  const body = el("div", {});
  const details = el("details", { open: opened.has(id) }, el("summary", { id }, "as a table"), body);
  const draw = () => {
    if (!details.open) return opened.delete(id);
    opened.add(id);
    const rows = makeRows();
    fill(body, rows.length > ROWS_SHOWN ? el("p", { class: "quiet" }, `The newest ${count(ROWS_SHOWN)} of ${count(rows.length)}.`) : null, table(columns, rows.slice(0, ROWS_SHOWN)));
  };
  details.addEventListener("toggle", draw);
  if (details.open) draw();
  return details;
}

const newestFirst = (one, other) => other.from - one.from;

const from = { head: "from", cell: (each) => moment(each.from, dateTime(each.from)) };
const to = { head: "to", cell: (each) => (each.to === null ? "the end" : moment(each.to, dateTime(each.to))) };

export const laneTable = (groupId, lanes) => asTable("members-table", () => lanes.flatMap(({ member, spans }) => spans.map(([begin, end, generation, partitions]) => ({ member, from: begin, to: end, generation, partitions }))).sort(newestFirst), [
  { head: "member", name: true, cell: (each) => el("a", { href: memberLink(groupId, each.member.member_id) }, short(each.member.name)) },
  from, to,
  { head: "generation", number: true, cell: (each) => count(each.generation) },
  { head: "partitions", number: true, cell: (each) => count(each.partitions) },
]);

export const ownerTable = (ownership) => asTable("partitions-table", () => ownership.partitions.flatMap(({ topic, partition, spans }) => spans.map(([begin, end, owner]) => ({ name: `${topic}-${partition}`, from: begin, to: end, owner }))).sort(newestFirst), [
  { head: "partition", name: true, cell: (each) => short(each.name) },
  { head: "owner", name: true, cell: (each) => short(each.owner) },
  from, to,
]);
