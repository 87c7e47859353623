// One group: its timeline, its members, who owned which partition, and the story of the chosen generation.

import { memberLanes, partitionLanes, timeline } from "./charts.js";
import { causeColour, causeWords, EMPTY_COLOUR, GAP_COLOUR, stateClass } from "./colours.js";
import { ago, bdi, count, dateTime, duration, el, generationLink, memberLink, show, table, time, visible } from "./dom.js";
import { findings } from "./findings.js";
import { fact, lagFacts, lagSection } from "./lag.js";
import { now } from "./live.js";
import { get, onLag } from "./main.js";

const LANES_SHOWN = 60;
let back = null; // the moment that the slider is set to; null: now

export async function groupPage(groupId, chosen, parameters) {
  const path = encodeURIComponent(groupId);
  const group = await get(`/api/groups/${path}`);
  const compared = parameters.get("compare");
  const wanted = chosen ?? group.generations.at(-1)?.generation_id ?? null;
  const [ownership, story, difference] = await Promise.all([
    get(`/api/ownership/${path}`),
    wanted === null ? null : get(`/api/generation/${wanted}/${path}`).catch(() => null),
    compared === null || wanted === null ? null : get(`/api/diff/${Number(compared)}/${wanted}/${path}`).catch(() => null),
  ]);
  const end = group.state === "Dead" ? group.newest_ms : now();
  const generations = group.generations;
  const line = el("div", { class: "chart", id: "timeline", role: "img", "aria-label": "Generations over time" });
  const members = el("div", { class: "chart", id: "members", role: "img", "aria-label": "Members over time" });
  const partitions = el("div", { class: "chart", id: "partitions", role: "img", "aria-label": "Owners of partitions over time" });
  const then = el("div", {});
  const lag = el("div", { id: "lag" });
  const lagCards = el("span", { class: "group" }, lagFacts(group));
  const facts = [
    lagCards,
    fact(count(group.members), "members"),
    group.has_events ? [
      fact(count(group.generation_id), "generation"), fact(count(group.rebalances_last_hour), "rebalances, last hour"),
      fact(ago(group.last_rebalance_ms, end), "last rebalance"), fact(duration(group.unowned_partition_ms), "partition time without owner"),
    ] : null,
  ];
  const past = () => [
    el("h2", {}, "Generations"), legend(generations), line,
    el("div", { class: "columns" },
      el("section", { id: "story" }, el("h2", {}, wanted === null ? "No generation yet" : `Generation ${wanted}`), story && storyOf(groupId, story, generations)),
      el("section", {}, el("h2", {}, "List"), list(groupId, generations, wanted))),
    difference && el("section", { id: "difference" }, el("h2", {}, `Generation ${difference.a.generation_id} beside ${difference.b.generation_id}`), differenceOf(difference)),
    el("h2", {}, `Members over time${more(group.lanes.length)}`), members,
    el("h2", {}, `Who owned which partition${more(ownership.total)}`),
    el("div", { class: "legend" }, el("span", {}, "One colour per member"), swatch(GAP_COLOUR, "nobody"), swatch(EMPTY_COLOUR, "the group was empty")), partitions,
    el("h2", {}, "At a moment in the past"), slider(generations, ownership.partitions, end, then), then,
  ];
  const charts = () => {
    timeline(line, generations, end, wanted, (id) => { location.hash = generationLink(groupId, id); });
    memberLanes(members, group.lanes.slice(0, LANES_SHOWN), generations, end, (id) => { location.hash = memberLink(groupId, id); });
    partitionLanes(partitions, ownership.partitions.slice(0, LANES_SHOWN), ownership.empty, generations, end);
  };
  show(
    el("h1", {}, bdi(groupId), " ", el("span", { class: `state ${stateClass(group.state)}` }, group.state)),
    el("div", { class: "cards" }, facts),
    warnings(group),
    el("h2", {}, "Lag"), lag,
    group.findings_list.length ? el("section", {}, el("h2", {}, "Findings"), findings(group.findings_list, false)) : null,
    ...(generations.length ? past() : [el("p", { class: "quiet" }, group.has_events ? "The group has not rebalanced yet." : "The audit topic has no events of this group, so nothing is known of its rebalances.")]),
    group.has_events ? [el("h2", {}, "Members now"), membersNow(groupId, group.members_now), rejected(group), resets(group)] : null,
  );
  if (generations.length) charts();
  const drawLag = lagSection(groupId, lag, lagCards);
  onLag(drawLag);
  await drawLag();
}

const swatch = (colour, words) => el("span", {}, el("i", { style: `background:${colour}` }), words);
const more = (total) => (total > LANES_SHOWN ? ` (the first ${LANES_SHOWN} of ${count(total)})` : "");

function warnings(group) {
  const words = [];
  if (group.begins_in_the_middle) words.push("The events before the first one shown were deleted by retention or have not been read.");
  for (const gap of group.gaps.slice(-3)) words.push(`Events ${gap[0]} to ${gap[1]} are missing before ${dateTime(gap[2])}.`);
  return words.map((each) => el("p", { class: "warn" }, each));
}

function legend(generations) {
  const causes = [...new Set(generations.map((each) => each.cause))].filter(Boolean);
  return el("div", { class: "legend" }, causes.map((cause) => swatch(causeColour(cause), causeWords(cause))),
    el("span", {}, el("i", { style: "border:2px dashed currentColor" }), "did not become stable"));
}

function storyOf(groupId, generation, generations) {
  const { story } = generation;
  const others = generations.filter((each) => each.generation_id !== generation.generation_id);
  return [
    el("div", { class: "story" },
      el("p", { class: "headline" }, story.headline),
      story.paragraphs.map((each) => el("p", {}, each)),
      story.advice.map((each) => el("p", { class: "advice" }, el("b", {}, "Try: "), each))),
    el("div", { class: "bar" },
      el("a", { href: generationLink(groupId, generation.generation_id) }, "link to this"),
      others.length ? el("label", {}, "compare with ", el("select", { onchange: (event) => { location.hash = `${generationLink(groupId, generation.generation_id)}?compare=${event.target.value}`; } },
        el("option", { value: "" }, "…"), others.slice(-100).reverse().map((each) => el("option", { value: each.generation_id }, `${each.generation_id}`)))) : null),
    el("h2", {}, "Members in it"),
    table([
      { head: "member", name: true, cell: (part) => el("a", { href: memberLink(groupId, part.member.member_id), title: part.member.member_id }, bdi(part.member.name)) },
      { head: "host", cell: (part) => bdi(part.member.client_host) },
      { head: "rejoined after", number: true, cell: (part) => duration(part.join_ms) },
      { head: "synced after", number: true, cell: (part) => duration(part.sync_ms) },
      { head: "partitions", number: true, cell: (part) => count(part.partitions) },
      { head: "gained", number: true, cell: (part) => count(part.gained) },
      { head: "lost", number: true, cell: (part) => count(part.lost) },
    ], generation.member_parts),
    moved(generation.moves),
  ];
}

function moved(moves) {
  if (!moves.total) return el("p", { class: "quiet" }, "No partition changed its owner.");
  return el("details", {}, el("summary", {}, `${count(moves.total)} partitions changed their owner`),
    table([
      { head: "partition", name: true, cell: (move) => bdi(`${move[0]}-${move[1]}`) },
      { head: "from", cell: (move) => (move[2] ? bdi(move[2]) : "nobody") },
      { head: "to", cell: (move) => (move[3] ? bdi(move[3]) : "nobody") },
    ], moves.moves.slice(0, 500)));
}

function list(groupId, generations, chosen) {
  return table([
    { head: "generation", number: true, cell: (each) => el("a", { href: generationLink(groupId, each.generation_id) }, each.generation_id) },
    { head: "began", cell: (each) => el("span", { title: dateTime(each.started_ms) }, time(each.started_ms)) },
    { head: "because", cell: (each) => [causeWords(each.cause), each.member ? el("span", { class: "quiet" }, " ", bdi(each.member)) : null] },
    { head: "outcome", cell: (each) => el("span", { class: each.outcome === "stable" ? "good" : "warn" }, each.outcome.replaceAll("_", " ")) },
    { head: "took", number: true, cell: (each) => duration(each.rebalance_ms) },
    { head: "moved", number: true, cell: (each) => (each.partitions === null ? "" : `${count(each.partitions_moved)} of ${count(each.partitions)}`) },
  ], generations.slice(-25).reverse(), { row: (each) => ({ class: each.generation_id === chosen ? "chosen" : null }) });
}

function differenceOf({ a, b, members_gone: gone, members_new: came, moves }) {
  const row = (words, read) => ({ words, a: read(a), b: read(b) });
  return [
    table([{ head: "", cell: (each) => each.words }, { head: `${a.generation_id}`, number: true, cell: (each) => each.a }, { head: `${b.generation_id}`, number: true, cell: (each) => each.b }], [
      row("because", (each) => causeWords(each.cause)), row("took", (each) => duration(each.rebalance_ms)), row("members", (each) => count(each.members)),
      row("partitions moved", (each) => count(each.partitions_moved)), row("assignor", (each) => each.protocol_name),
    ]),
    el("p", {}, gone.length ? `Gone: ${gone.join(", ")}. ` : "", came.length ? `New: ${came.join(", ")}.` : ""),
    moved(moves),
  ];
}

function slider(generations, partitions, end, then) {
  const first = generations.find((each) => each.started_ms !== null)?.started_ms ?? end;
  const label = el("output", {});
  const input = el("input", { type: "range", min: first, max: end, step: 1, value: back ?? end, "aria-label": "moment" });
  const draw = () => {
    const at = Number(input.value);
    back = at >= end ? null : at;
    label.textContent = back === null ? "now" : dateTime(at);
    const owners = new Map();
    let nobody = 0;
    for (const each of partitions) {
      const span = each.spans.find((one) => one[0] <= at && at <= (one[1] ?? end));
      if (span) owners.set(span[2], [...(owners.get(span[2]) || []), `${each.topic}-${each.partition}`]);
      else nobody += 1;
    }
    then.replaceChildren(
      table([{ head: "member", name: true, cell: (row) => bdi(row[0]) }, { head: "partitions", number: true, cell: (row) => count(row[1].length) }, { head: "", name: true, cell: (row) => el("span", { class: "quiet" }, row[1].slice(0, 12).join(", "), row[1].length > 12 ? " …" : "") }], [...owners].sort()),
      el("p", { class: nobody ? "bad" : "quiet" }, nobody ? `${count(nobody)} partitions had no owner then.` : "Every partition had an owner then."));
  };
  input.addEventListener("input", draw);
  draw();
  return el("div", { class: "bar" }, input, label);
}

function membersNow(groupId, members) {
  if (!members.length) return el("p", { class: "quiet" }, "The group has no members.");
  return table([
    { head: "member", name: true, cell: (each) => el("a", { href: memberLink(groupId, each.member.member_id), title: each.member.member_id }, bdi(each.member.name)) },
    { head: "host", cell: (each) => bdi(each.member.client_host) },
    { head: "client", cell: (each) => [each.member.client_software_name, each.member.client_software_version].filter(Boolean).map(visible).join(" ") },
    { head: "session timeout", number: true, cell: (each) => duration(each.session_timeout_ms) },
    { head: "last joined", cell: (each) => dateTime(each.joined_ms) },
    { head: "partitions", number: true, cell: (each) => count(each.partitions) },
    { head: "topics", name: true, cell: (each) => bdi(each.subscribed_topics.slice(0, 8).join(", ")) },
  ], members);
}

function rejected(group) {
  if (!group.rejected.length) return null;
  return el("section", {}, el("h2", {}, "Rejected requests"), table([
    { head: "when", cell: (each) => dateTime(each.time_ms) }, { head: "request", cell: (each) => each.api }, { head: "error", cell: (each) => each.error },
    { head: "from", name: true, cell: (each) => bdi(`${each.member.client_id} ${each.member.client_host}`) }, { head: "so far", number: true, cell: (each) => count(each.count) },
  ], group.rejected.slice(-50).reverse()));
}

function resets(group) {
  if (!group.resets.length) return null;
  return el("section", {}, el("h2", {}, "Offset resets"), table([
    { head: "when", cell: (each) => dateTime(each.time_ms) }, { head: "by", name: true, cell: (each) => bdi(`${each.requested_by.client_id} ${each.requested_by.client_host}`) },
    { head: "offsets", name: true, cell: (each) => Object.entries(each.partitions).flatMap(([topic, of]) => of.map(([partition, from, to]) => `${topic}-${partition}: ${from} → ${to}`)).slice(0, 20).join(", ") },
  ], group.resets.slice(-50).reverse()));
}

