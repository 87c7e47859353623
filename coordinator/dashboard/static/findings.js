// Findings: what is wrong with a group, the evidence, and one piece of advice.

import { groupLink } from "./address.js";
import { bdi, count, el } from "./dom.js";
import { inZone } from "./times.js";

const EVIDENCE_SHOWN = 8;

export function findings(list, withGroup) {
  return list.map((each) => {
    const sentence = (text) => inZone(text, each.until_ms);
    const evidence = each.evidence.slice(0, EVIDENCE_SHOWN);
    const left = each.evidence.length - evidence.length;
    return el("div", { class: "finding" },
      el("p", {}, el("b", {}, sentence(each.headline)), withGroup ? [" in ", el("a", { href: groupLink(each.group_id) }, bdi(each.group_id))] : null),
      el("ul", {}, evidence.map((one) => el("li", {}, sentence(one))), left > 0 ? el("li", {}, `and ${count(left)} more`) : null),
      el("p", {}, "Try: ", sentence(each.advice)));
  });
}
