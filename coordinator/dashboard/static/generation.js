// The story of one generation with its members, and two generations beside each other.

import { generationLink, link, memberLink, sameView } from "./address.js";
import { causeWords } from "./colours.js";
import { commandLine } from "./command.js";
import { longTable } from "./longtable.js";
import { bdi, count, counted, el, firstUpper, names, short, table } from "./dom.js";
import { duration, inZone } from "./times.js";

const COMPARED = 100; // generations to choose from, the newest
const MOVES_SHOWN = 500;

export function storyOf(groupId, generation, generations) {
  if (generation.missing) return el("p", { class: "warn" }, generation.missing);
  const { story } = generation;
  const atMs = generation.ended_ms ?? generation.started_ms;
  const sentence = (runs) => runs.map((run) => (typeof run === "string" ? inZone(run, atMs) : el("a", { href: memberLink(groupId, run[1]) }, bdi(run[0]))));
  const others = generations.filter((each) => each.generation_id !== generation.generation_id);
  return [
    el("div", { class: "story" },
      el("p", { class: "headline" }, sentence(story.runs.headline)),
      story.runs.paragraphs.map((each) => el("p", {}, sentence(each))),
      story.runs.advice.map((each) => el("p", { class: "advice" }, el("b", {}, "Try: "), sentence(each)))),
    el("div", { class: "bar" },
      beside(groupId, generation.generation_id, generations),
      el("a", { href: link(generationLink(groupId, generation.generation_id)) }, "link to this"),
      others.length ? compare(groupId, generation, others) : null),
    commandLine(generation.command),
    el("h2", {}, "Members in it"),
    longTable(`members in ${groupId}`, [
      { head: "member", name: true, by: (part) => part.member.name, cell: (part) => el("a", { href: memberLink(groupId, part.member.member_id), title: part.member.member_id }, short(part.member.name)) },
      { head: "host", by: (part) => part.member.client_host, cell: (part) => bdi(part.member.client_host) },
      ...(generation.is_epoch ? [] : [{ head: "rejoined after", number: true, by: (part) => part.join_ms, cell: (part) => duration(part.join_ms) }]),
      { head: generation.is_epoch ? "had its target after" : "synced after", number: true, by: (part) => part.sync_ms, cell: (part) => duration(part.sync_ms) },
      { head: "partitions", number: true, by: (part) => part.partitions, cell: (part) => count(part.partitions) },
      { head: "gained", number: true, by: (part) => part.gained, cell: (part) => count(part.gained) },
      { head: "lost", number: true, by: (part) => part.lost, cell: (part) => count(part.lost) },
    ], generation.member_parts, { find: ({ member }) => `${member.name} ${member.member_id} ${member.client_host}` }),
    moved(`moves in ${groupId}`, generation.moves),
  ];
}

// Links to the generations before and after this one.
function beside(groupId, id, generations) {
  const index = generations.findLastIndex((each) => each.generation_id === id);
  if (index < 0) return null;
  const to = (other, name, words) => (other ? el("a", { id: name, href: link(generationLink(groupId, other.generation_id), { compare: "" }) }, words(other.name)) : null);
  const before = generations.slice(0, index).findLast((each) => each.generation_id !== id);
  const after = generations.slice(index + 1).find((each) => each.generation_id !== id);
  return [to(before, "generation-before", (words) => `← ${words}`), to(after, "generation-after", (words) => `${words} →`)];
}

function compare(groupId, generation, others) {
  const address = generationLink(groupId, generation.generation_id);
  const choose = (event) => { location.hash = link(address, { compare: event.target.value }); };
  return el("label", {}, "compare with ", el("select", { id: "compare", onchange: choose },
    el("option", { value: "" }, "…"), others.slice(-COMPARED).reverse().map((each) => el("option", { value: each.generation_id }, each.generation_id))));
}

function moved(id, moves) {
  if (!moves.total) return el("p", { class: "quiet" }, "No partition changed its owner.");
  const shown = moves.moves.slice(0, MOVES_SHOWN);
  return el("details", {}, el("summary", {}, `${counted(moves.total, "partition")} changed ${moves.total === 1 ? "its" : "their"} owner`),
    shown.length < moves.total ? el("p", { class: "quiet" }, `The first ${count(shown.length)} of them.`) : null,
    longTable(id, [
      { head: "partition", name: true, by: (move) => `${move[0]}-${move[1]}`, cell: (move) => short(`${move[0]}-${move[1]}`) },
      { head: "from", name: true, by: (move) => move[2], cell: (move) => (move[2] ? short(move[2]) : "nobody") },
      { head: "to", name: true, by: (move) => move[3], cell: (move) => (move[3] ? short(move[3]) : "nobody") },
    ], shown, { find: (move) => `${move[0]}-${move[1]} ${move[2]} ${move[3]}` }));
}

export function differenceOf(groupId, difference) {
  if (difference.missing) return el("p", { class: "warn" }, difference.missing);
  const { a, b, members_gone: gone, members_new: came, moves } = difference;
  const row = (words, read) => ({ words, a: read(a), b: read(b) });
  return [
    el("h2", {}, `${firstUpper(a.name)} beside ${a.is_epoch === b.is_epoch ? b.generation_id : b.name}`),
    table([{ head: "", cell: (each) => each.words }, { head: `${a.generation_id}`, number: true, cell: (each) => each.a }, { head: `${b.generation_id}`, number: true, cell: (each) => each.b }], [
      row("because", (each) => causeWords(each.cause)), row("took", (each) => duration(each.rebalance_ms)), row("members", (each) => count(each.members)),
      row("partitions moved", (each) => count(each.partitions_moved)), row("assignor", (each) => bdi(each.protocol_name)),
    ]),
    gone.length ? el("p", {}, "Gone: ", names(gone, 50), ".") : null,
    came.length ? el("p", {}, "New: ", names(came, 50), ".") : null,
    moved(`moves between ${a.generation_id} and ${b.generation_id} of ${groupId}`, moves),
    el("a", { href: sameView({ compare: "" }) }, "close"),
  ];
}
