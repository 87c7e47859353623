// Findings: what is wrong with a group, the evidence, and one piece of advice.

import { generationLink, groupLink } from "./address.js";
import { bdi, count, el } from "./dom.js";
import { inZone } from "./times.js";

const EVIDENCE_SHOWN = 8;

// `groupId` is that of all findings; null: each says its own, as a link.
export function findings(list, groupId = null) {
  return list.map((each) => {
    const sentence = (text) => inZone(text, each.until_ms);
    const evidence = each.evidence.slice(0, EVIDENCE_SHOWN);
    const left = each.evidence.length - evidence.length;
    const link = (id) => generationLink(groupId ?? each.group_id, id);
    return el("div", { class: "finding" },
      el("p", {}, el("b", {}, sentence(each.headline)), groupId === null ? [" in ", el("a", { href: groupLink(each.group_id) }, bdi(each.group_id))] : null),
      where(each, link),
      el("ul", {}, evidence.map((one) => el("li", {}, sentence(one))), left > 0 ? el("li", {}, `and ${count(left)} more`) : null),
      el("p", {}, "Try: ", sentence(each.advice)));
  });
}

// The first and the last of the generations in which its evidence lies lead there.
function where({ generations }, link) {
  if (!generations.length) return null;
  const to = ([id, name], words) => el("a", { href: link(id) }, words ?? name);
  const [first, last] = [generations[0], generations.at(-1)];
  if (first === last) return el("p", {}, "See ", to(first), ".");
  return el("p", {}, "See ", to(first), generations.length === 2 ? " and " : " to ", to(last, kindOf(first) === kindOf(last) ? last[0] : null),
    generations.length > 2 ? ` (${count(generations.length)} of them)` : null, ".");
}

const kindOf = ([, name]) => name.replace(/ \d+$/, "");
