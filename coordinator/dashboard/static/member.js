// One member: its lag, what it owns and owned in each generation, how fast it rejoined, and why it went.

import { generationLink, groupLink } from "./address.js";
import { causeWords } from "./colours.js";
import { bdi, count, counted, el, firstUpper, moment, names, readable, show, wordFor, wordsFor } from "./dom.js";
import { topics } from "./group.js";
import { longTable } from "./longtable.js";
import { fact, lagElement, lagFacts, lagSection } from "./lag.js";
import { now } from "./live.js";
import { get, onLag } from "./main.js";
import { ago, dateTime, duration, shortTime } from "./times.js";

const GENERATIONS_SHOWN = 200;
const NAMES_SHOWN = 20;

export async function memberPage(groupId, memberId) {
  const member = await get(`/api/member/${encodeURIComponent(groupId)}?member_id=${encodeURIComponent(memberId)}`);
  const known = member.now?.member ?? member.generations.at(-1)?.part.member ?? member.lag;
  const name = known?.name ?? memberId;
  const lag = lagElement(groupId, memberId);
  const lagCards = el("span", { class: "group" }, member.lag ? lagFacts(member.lag) : null);
  show(
    `${readable(name)} in ${readable(groupId)}`,
    el("p", {}, el("a", { href: groupLink(groupId) }, "← ", bdi(groupId))),
    el("h1", {}, bdi(name)),
    standing(member),
    el("div", { class: "cards" }, lagCards, cards(member)),
    facts(groupId, memberId, member, known),
    member.removed.map((each) => el("p", {}, "Removed at ", moment(each.at_ms, dateTime(each.at_ms)), `: ${each.cause.replaceAll("_", " ")}`, each.silent_ms === null ? "" : `, silent for ${duration(each.silent_ms)}`, each.reason ? ["; it said: ", bdi(each.reason)] : "")),
    member.lag ? [el("h2", {}, "Lag"), lag] : null,
    member.generations.length ? [el("h2", {}, firstUpper(wordsFor(member.generations))), generations(groupId, memberId, member.generations)] : null,
  );
  if (!member.lag) return;
  const draw = lagSection(groupId, lag, lagCards, memberId, member.generations);
  onLag(draw);
  await draw();
}

const isInGroup = (member) => member.now !== null || member.lag !== null;
const owned = (member) => member.lag?.partitions_owned ?? member.now?.partitions ?? 0;

const standing = (member) => (isInGroup(member)
  ? el("p", {}, `In the group, with ${counted(owned(member), "partition")}.`)
  : el("p", { class: "warn" }, "Not in the group any more."));

// A heartbeat leaves no trace in the audit topic, so a commit is what a member was last heard by.
function cards(member) {
  if (!isInGroup(member)) return null;
  const commit = member.lag?.moved_ms ?? null;
  return [
    fact(count(owned(member)), "partitions"),
    member.lag ? fact(commit === null ? "–" : moment(commit, ago(commit, now())), "last heard, by a commit") : null,
    member.now ? fact(moment(member.now.joined_ms, ago(member.now.joined_ms, now())), "last joined") : null,
  ];
}

function facts(groupId, memberId, member, known) {
  const subscribed = member.now?.subscribed_topics?.length ? member.now.subscribed_topics : (member.lag?.topics ?? []);
  const software = [known?.client_software_name, known?.client_software_version].filter(Boolean).join(" ");
  const own = member.now ? partitionNames(member.now.assignment) : [];
  const rows = [
    ["member id", bdi(memberId)],
    ["client id", bdi(known?.client_id || null)],
    ["host", bdi(known?.client_host || null)],
    ["principal", bdi(known?.principal || null)],
    ["instance id", bdi(known?.group_instance_id ?? null)],
    ["software", software ? bdi(software) : isInGroup(member) ? el("span", { class: "quiet" }, "not known") : ""],
    ["topics", subscribed.length ? topics(subscribed, NAMES_SHOWN) : ""],
    ["partitions", own.length ? names(own, NAMES_SHOWN) : isInGroup(member) && owned(member) === 0 ? el("span", { class: "quiet" }, "none") : ""],
    ["session timeout", duration(member.now?.session_timeout_ms)],
    ["rebalance timeout", duration(member.now?.rebalance_timeout_ms)],
  ];
  return el("dl", { class: "facts" }, rows.filter(([, value]) => value).map(([words, value]) => [el("dt", {}, words), el("dd", {}, value)]));
}

// Runs of indexes: `orders-0…5`.
function partitionNames(assignment) {
  return Object.entries(assignment).flatMap(([topic, indexes]) => {
    const runs = [];
    for (const index of [...indexes].sort((one, other) => one - other)) {
      if (runs.length && runs.at(-1)[1] === index - 1) runs.at(-1)[1] = index;
      else runs.push([index, index]);
    }
    return runs.map(([first, last]) => (first === last ? `${topic}-${first}` : `${topic}-${first}…${last}`));
  });
}

function generations(groupId, memberId, list) {
  const shown = list.slice(-GENERATIONS_SHOWN).reverse();
  return [
    shown.length < list.length ? el("p", { class: "quiet" }, `The newest ${count(shown.length)} of ${count(list.length)}.`) : null,
    longTable(`generations of ${memberId} of ${groupId}`, [
      { head: wordFor(shown), number: true, by: (each) => each.generation_id, cell: (each) => el("a", { href: generationLink(groupId, each.generation_id) }, each.generation_id) },
      { head: "began", by: (each) => each.started_ms, cell: (each) => moment(each.started_ms, shortTime(each.started_ms, now())) },
      { head: "because", words: true, by: (each) => causeWords(each.cause), cell: (each) => causeWords(each.cause) },
      ...(shown.every((each) => each.is_epoch) ? [] : [{ head: "rejoined after", number: true, by: (each) => each.part.join_ms, cell: (each) => (each.is_epoch ? "" : duration(each.part.join_ms)) }]),
      { head: shown.every((each) => each.is_epoch) ? "had its target after" : "synced after", number: true, by: (each) => each.part.sync_ms, cell: (each) => duration(each.part.sync_ms) },
      { head: "partitions", number: true, by: (each) => each.part.partitions, cell: (each) => count(each.part.partitions) },
      { head: "gained", number: true, by: (each) => each.part.gained, cell: (each) => count(each.part.gained) },
      { head: "lost", number: true, by: (each) => each.part.lost, cell: (each) => count(each.part.lost) },
    ], shown),
  ];
}
