// How much of the past the timelines show, and where they end.

import { sameView } from "./address.js";
import { el } from "./dom.js";
import { now } from "./live.js";

const MINUTE_MS = 60000;
const RANGES = [["15m", "last 15 min", 15 * MINUTE_MS], ["1h", "1 h", 60 * MINUTE_MS], ["24h", "24 h", 24 * 60 * MINUTE_MS], ["", "all", Infinity]];
const LEAST_MS = 1000;

const chosenRange = (name) => RANGES.find(([each]) => each === (name ?? "")) ?? RANGES.at(-1);

export function rangePicker(name) {
  const [chosen] = chosenRange(name);
  return el("nav", { class: "bar ranges", "aria-label": "Range of the timelines" }, RANGES.map(([each, words]) =>
    el("a", { href: sameView({ range: each }), id: `range-${each || "all"}`, "aria-current": each === chosen ? "true" : null }, words)));
}

// The end of a group's story: now while it may go on, its last event if it is dead.
export const endOf = (group) => (group.state === "Dead" ? (group.last_ms ?? group.newest_ms) : now());

// The time that the axes show: [from, to]. A range begins with the story if that is shorter.
export function timeSpan(generations, end, name) {
  const first = generations.find((each) => each.started_ms !== null)?.started_ms ?? end - MINUTE_MS;
  const from = Math.max(first, end - chosenRange(name)[2]);
  const length = Math.max(LEAST_MS, end - from);
  return [from === first ? end - length * 1.01 : from, end];
}
