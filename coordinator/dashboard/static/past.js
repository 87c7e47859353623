// A slider to a moment in the past: who owned what then.

import { count, el, fill, names, short } from "./dom.js";
import { longTable } from "./longtable.js";
import { dateTime } from "./times.js";

const PARTITIONS_NAMED = 12;
let back = null; // the moment that the slider is set to, of a group: {groupId, at}; null: the end

export function slider(groupId, generations, ownership, end) {
  const first = generations.find((each) => each.started_ms !== null)?.started_ms ?? end;
  const label = el("output", {});
  const then = el("div", {});
  const at = back !== null && back.groupId === groupId ? back.at : end;
  const input = el("input", { type: "range", min: first, max: end, step: 1, value: at, "aria-label": "moment" });
  const draw = () => {
    const chosen = Number(input.value);
    back = chosen >= end ? null : { groupId, at: chosen };
    label.textContent = back === null ? "the end" : dateTime(chosen);
    input.setAttribute("aria-valuetext", label.textContent);
    fill(then, ownersAt(groupId, ownership.partitions, chosen, end), ownership.total > ownership.partitions.length ? el("p", { class: "quiet" }, `Of the first ${count(ownership.partitions.length)} of ${count(ownership.total)} partitions.`) : null);
  };
  input.addEventListener("input", draw);
  draw();
  return [el("div", { class: "bar" }, input, label), then];
}

function ownersAt(groupId, partitions, at, end) {
  const owners = new Map();
  const nobody = [];
  for (const each of partitions) {
    const span = each.spans.find((one) => one[0] <= at && at <= (one[1] ?? end));
    if (!span) nobody.push(`${each.topic}-${each.partition}`);
    else if (owners.has(span[2])) owners.get(span[2]).push(`${each.topic}-${each.partition}`);
    else owners.set(span[2], [`${each.topic}-${each.partition}`]);
  }
  return [
    longTable(`owners then of ${groupId}`, [
      { head: "member", name: true, by: ([name]) => name, cell: ([name]) => (name ? short(name) : el("span", { class: "bad" }, "nobody")) },
      { head: "partitions", number: true, by: ([, own]) => own.length, cell: ([, own]) => count(own.length) },
      { head: "which", name: true, cell: ([, own]) => el("span", { class: "quiet" }, names(own, PARTITIONS_NAMED)) },
    ], (nobody.length ? [["", nobody]] : []).concat([...owners].sort(([one], [other]) => (one < other ? -1 : 1))), { find: ([name, own]) => `${name || "nobody"} ${own.join(" ")}` }),
  ];
}
