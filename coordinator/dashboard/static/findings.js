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

const NAMED = 6;

// Links to the generations in which its evidence lies: to each, or to the first and the last of many.
function where({ generations }, link) {
  if (!generations.length) return null;
  const kindOf = ([, name]) => name.replace(/ \d+$/, "");
  const all = generations.map((each, index) => el("a", { href: link(each[0]) }, index && kindOf(each) === kindOf(generations[index - 1]) ? each[0] : each[1]));
  if (all.length > NAMED) return el("p", {}, "See ", all[0], " to ", all.at(-1), ` (${count(all.length)} of them).`);
  return el("p", {}, "See ", all.map((each, index) => [index === 0 ? null : index === all.length - 1 ? " and " : ", ", each]), ".");
}
