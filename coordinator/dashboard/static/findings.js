// Findings: what is wrong with a group, the evidence, and one piece of advice.

import { bdi, el, groupLink } from "./dom.js";

export function findings(list, withGroup) {
  return list.map((each) => el("div", { class: "finding" },
    el("p", {}, el("b", {}, each.headline), withGroup ? [" in ", el("a", { href: groupLink(each.group_id) }, bdi(each.group_id))] : null),
    el("p", { class: "quiet" }, each.evidence.join(" ")),
    el("p", {}, "Try: ", each.advice)));
}
