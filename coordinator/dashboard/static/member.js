// One member: its lag, what it owned in each generation, how fast it rejoined, and why it went.

import { causeWords } from "./colours.js";
import { ago, bdi, count, dateTime, duration, el, generationLink, groupLink, show, table, time } from "./dom.js";
import { fact, lagFacts, lagSection } from "./lag.js";
import { now } from "./live.js";
import { get, onLag } from "./main.js";

export async function memberPage(groupId, memberId) {
  const member = await get(`/api/member/${encodeURIComponent(groupId)}?member_id=${encodeURIComponent(memberId)}`);
  const known = member.now?.member ?? member.generations.at(-1)?.part.member ?? member.lag;
  const isInGroup = member.now !== null || member.lag !== null;
  const lag = el("div", { id: "lag" });
  const lagCards = el("span", { class: "group" }, member.lag ? lagFacts(member.lag) : null);
  show(
    el("p", {}, el("a", { href: groupLink(groupId) }, "← ", bdi(groupId))),
    el("h1", {}, bdi(known?.name ?? memberId)),
    isInGroup ? el("p", {}, `In the group, with ${count(member.lag?.partitions_owned ?? member.now.partitions)} partitions.`) : el("p", { class: "warn" }, "Not in the group any more."),
    member.lag ? el("div", { class: "cards" },
      lagCards,
      fact(count(member.lag.partitions_owned), "partitions"),
      fact(member.lag.moved_ms === null ? "–" : ago(member.lag.moved_ms, now()), "last heard, by a commit")) : null,
    facts(memberId, member, known),
    member.removed.map((each) => el("p", {}, `Removed at ${dateTime(each.at_ms)}: ${each.cause.replaceAll("_", " ")}`, each.silent_ms === null ? "" : `, silent for ${duration(each.silent_ms)}`, each.reason ? ["; it said: ", bdi(each.reason)] : "")),
    member.lag ? [el("h2", {}, "Lag"), lag] : null,
    member.generations.length ? [el("h2", {}, "Generations"), generations(groupId, member.generations)] : null,
  );
  if (!member.lag) return;
  const draw = lagSection(groupId, lag, lagCards, memberId);
  onLag(draw);
  await draw();
}

// What its requests told of it. A heartbeat leaves no trace in the audit topic, so a commit is what it was last heard by.
function facts(memberId, member, known) {
  const topics = member.now?.subscribed_topics?.length ? member.now.subscribed_topics : (member.lag?.topics ?? []);
  const software = [known?.client_software_name, known?.client_software_version].filter(Boolean).join(" ");
  const rows = [
    ["member id", memberId],
    ["client id", known?.client_id],
    ["host", known?.client_host],
    ["instance id", known?.group_instance_id],
    ["software", software],
    ["topics", topics.slice(0, 20).join(", ") + (topics.length > 20 ? ` and ${count(topics.length - 20)} more` : "")],
    ["session timeout", duration(member.now?.session_timeout_ms)],
    ["last joined", dateTime(member.now?.joined_ms)],
  ];
  return el("dl", { class: "facts" }, rows.filter(([, value]) => value).map(([name, value]) => [el("dt", {}, name), el("dd", {}, bdi(value))]));
}

function generations(groupId, list) {
  return table([
    { head: "generation", number: true, cell: (each) => el("a", { href: generationLink(groupId, each.generation_id) }, each.generation_id) },
    { head: "began", cell: (each) => time(each.started_ms) },
    { head: "because", cell: (each) => causeWords(each.cause) },
    { head: "rejoined after", number: true, cell: (each) => duration(each.part.join_ms) },
    { head: "synced after", number: true, cell: (each) => duration(each.part.sync_ms) },
    { head: "partitions", number: true, cell: (each) => count(each.part.partitions) },
    { head: "gained", number: true, cell: (each) => count(each.part.gained) },
    { head: "lost", number: true, cell: (each) => count(each.part.lost) },
  ], list.slice(-200).reverse());
}
