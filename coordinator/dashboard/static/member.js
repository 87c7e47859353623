// One member: what it owned in each generation, how fast it rejoined, and why it went.

import { causeWords } from "./colours.js";
import { count, dateTime, duration, el, generationLink, groupLink, show, table, time } from "./dom.js";
import { get } from "./main.js";

export async function memberPage(groupId, memberId) {
  const member = await get(`/api/member/${encodeURIComponent(groupId)}?member_id=${encodeURIComponent(memberId)}`);
  const known = member.now?.member ?? member.generations.at(-1)?.part.member;
  show(
    el("p", {}, el("a", { href: groupLink(groupId) }, `← ${groupId}`)),
    el("h1", {}, known?.name ?? memberId),
    el("p", { class: "quiet" }, `member id ${memberId}`, known ? `, client id ${known.client_id}, host ${known.client_host}` : "", known?.group_instance_id ? `, instance id ${known.group_instance_id}` : ""),
    member.now ? el("p", {}, `In the group, with ${count(member.now.partitions)} partitions. Session timeout: ${duration(member.now.session_timeout_ms) || "unknown"}.`) : el("p", { class: "warn" }, "Not in the group any more."),
    member.removed.map((each) => el("p", {}, `Removed at ${dateTime(each.at_ms)}: ${each.cause.replaceAll("_", " ")}`, each.silent_ms === null ? "" : `, silent for ${duration(each.silent_ms)}`, each.reason ? `; it said: ${each.reason}` : "")),
    el("h2", {}, "Generations"),
    table([
      { head: "generation", number: true, cell: (each) => el("a", { href: generationLink(groupId, each.generation_id) }, each.generation_id) },
      { head: "began", cell: (each) => time(each.started_ms) },
      { head: "because", cell: (each) => causeWords(each.cause) },
      { head: "rejoined after", number: true, cell: (each) => duration(each.part.join_ms) },
      { head: "synced after", number: true, cell: (each) => duration(each.part.sync_ms) },
      { head: "partitions", number: true, cell: (each) => count(each.part.partitions) },
      { head: "gained", number: true, cell: (each) => count(each.part.gained) },
      { head: "lost", number: true, cell: (each) => count(each.part.lost) },
    ], member.generations.slice(-200).reverse()));
}
