// Changes of a group: each is planned, shown, confirmed in a dialog, and only then done.

import { bdi, count, counted, el, fill, short, table } from "./dom.js";
import { get, refresh } from "./main.js";
import { usesUtc } from "./times.js";

const ROWS_SHOWN = 200;

export function actionsSection(groupId, topics) {
  const button = (id, words, open) => el("button", { type: "button", id, onclick: open }, words);
  return el("section", { id: "actions" }, el("h2", {}, "Actions"),
    el("p", { class: "quiet" }, "Each shows what it will change before it does anything."),
    el("div", { class: "bar" },
      button("reset-offsets", "Reset offsets…", () => resetOffsets(groupId, topics)),
      button("delete-offsets", "Delete offsets of a topic…", () => deleteOffsets(groupId, topics)),
      button("remove-members", "Remove members…", () => removeMembers(groupId)),
      button("delete-group", "Delete group…", () => deleteGroup(groupId))));
}

const address = (kind, action, groupId) => `/api/${kind}/${action}/${encodeURIComponent(groupId)}`;

async function post(action, groupId, body) {
  const response = await fetch(address("actions", action, groupId), { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  const found = await response.json().catch(() => ({ error: `${response.status} ${response.statusText}` }));
  if (!response.ok) throw new Error(found.error || response.statusText);
}

// A dialog outside of the page, which may be drawn again meanwhile. `fields` are chosen before there is a plan.
function dialog(title, groupId, fields, makePlan) {
  const shown = el("div", { "aria-live": "polite" });
  const cancel = el("button", { type: "button", id: "cancel", onclick: () => box.close() }, "Cancel");
  const buttons = el("div", { class: "bar" });
  const box = el("dialog", { class: "action", "aria-labelledby": "action-title", onclose: () => box.remove() },
    el("h2", { id: "action-title" }, title, ": ", bdi(groupId)), fields, shown, buttons);
  const problem = (error) => fill(shown, el("p", { class: "bad", role: "alert" }, error.message));
  const plan = el("button", { type: "button", id: "plan", onclick: () => preview() }, "Show what changes");
  const reset = () => { fill(shown); fill(buttons, plan, cancel); };
  const preview = async () => {
    plan.disabled = true;
    try {
      const { content, words, confirm } = await makePlan();
      fill(shown, content);
      fill(buttons, confirm && el("button", { type: "button", id: "confirm", class: "danger", onclick: (event) => act(event.target, confirm, words) }, words), fields ? el("button", { type: "button", onclick: reset }, "Change") : null, cancel);
    } catch (error) {
      problem(error);
    }
    plan.disabled = false;
  };
  const act = async (button, confirm, words) => {
    button.disabled = true;
    try {
      await confirm();
    } catch (error) {
      problem(error);
      return fill(buttons, plan, cancel);
    }
    fill(shown, el("p", { class: "good", role: "status" }, `Done: ${words}.`));
    fill(buttons, el("button", { type: "button", id: "close", onclick: () => box.close() }, "Close"));
    document.getElementById("close").focus();
    refresh();
  };
  if (fields) for (const each of box.querySelectorAll("input, select")) each.addEventListener("input", reset);
  reset();
  document.body.append(box);
  box.showModal();
  if (!fields) preview();
}

const choice = (id, options) => el("select", { id }, options.map(([value, words]) => el("option", { value }, words)));
const value = (id) => document.getElementById(id).value.trim();

function resetOffsets(groupId, topics) {
  const at = el("input", { id: "reset-at", type: "datetime-local", step: "1", "aria-label": "time" });
  const offset = el("input", { id: "reset-offset", inputmode: "numeric", pattern: "[0-9]+", "aria-label": "offset" });
  const to = choice("reset-to", [["earliest", "the earliest record"], ["latest", "the end of the log"], ["time", usesUtc() ? "a time (UTC)" : "a time (local)"], ["offset", "an offset"]]);
  const show = () => { at.hidden = to.value !== "time"; offset.hidden = to.value !== "offset"; };
  to.addEventListener("input", show);
  show();
  const fields = el("div", { class: "bar" },
    el("label", {}, "Topic ", choice("reset-topic", [["", "all"], ...topics.map((topic) => [topic, topic])])),
    el("label", {}, "partition ", el("input", { id: "reset-partition", inputmode: "numeric", pattern: "[0-9]*", size: "5", placeholder: "all" })),
    el("label", {}, "to ", to), at, offset);
  dialog("Reset offsets", groupId, fields, async () => {
    const query = { to: to.value, topic: document.getElementById("reset-topic").value, partition: value("reset-partition") };
    if (to.value === "time") query.at = at.value ? new Date(usesUtc() ? `${at.value}Z` : at.value).getTime() : "";
    if (to.value === "offset") query.at = value("reset-offset");
    const plan = await get(`${address("plans", "reset-offsets", groupId)}?${new URLSearchParams(query)}`);
    return offsetsPlan(groupId, "reset-offsets", plan, plan.offsets.filter(([, , before, after]) => before !== after), "reset");
  });
}

function deleteOffsets(groupId, topics) {
  const fields = el("label", {}, "Topic ", choice("delete-topic", topics.map((topic) => [topic, topic])));
  dialog("Delete offsets of a topic", groupId, fields, async () => {
    const plan = await get(`${address("plans", "delete-offsets", groupId)}?${new URLSearchParams({ topic: document.getElementById("delete-topic").value })}`);
    return offsetsPlan(groupId, "delete-offsets", plan, plan.offsets, "delete");
  });
}

function offsetsPlan(groupId, action, plan, changes, verb) {
  const same = plan.offsets.length - changes.length;
  const content = [
    plan.members.length && verb === "reset" ? el("p", { class: "warn" }, `The group has ${counted(plan.members.length, "member")}. Kafka accepts a reset only while a group has none: stop its consumers first.`) : null,
    changes.length ? offsetsTable(changes) : el("p", {}, "Nothing would change."),
    same ? el("p", { class: "quiet" }, `${counted(same, "partition")} would stay unchanged.`) : null,
  ];
  const words = `${verb} ${counted(changes.length, "offset")}`;
  return { content, words, confirm: changes.length ? () => post(action, groupId, { offsets: changes }) : null };
}

function offsetsTable(changes) {
  const back = changes.filter(([, , before, after]) => before !== null && after !== null && after < before);
  const ahead = changes.filter(([, , before, after]) => before !== null && after !== null && after > before);
  const sum = (list) => count(list.reduce((total, [, , before, after]) => total + Math.abs(after - before), 0));
  return [
    back.length ? el("p", {}, `${sum(back)} records will be read again.`) : null,
    ahead.length ? el("p", { class: "warn" }, `${sum(ahead)} records will be skipped.`) : null,
    changes.length > ROWS_SHOWN ? el("p", { class: "quiet" }, `The first ${count(ROWS_SHOWN)} of ${count(changes.length)} partitions.`) : null,
    table([
      { head: "partition", name: true, cell: ([topic, partition]) => short(`${topic}-${partition}`) },
      { head: "offset now", number: true, cell: ([, , before]) => before ?? "none" },
      { head: "offset then", number: true, cell: ([, , , after]) => after ?? "none" },
    ], changes.slice(0, ROWS_SHOWN)),
  ];
}

function removeMembers(groupId) {
  dialog("Remove members", groupId, null, async () => {
    const { members } = await get(address("plans", "remove-members", groupId));
    if (!members.length) return { content: el("p", {}, "The group has no members."), words: "", confirm: null };
    const boxes = members.map((each) => el("input", { type: "checkbox", checked: true, "aria-label": `remove ${each.name}` }));
    const content = [
      el("p", {}, "The partitions of those who are removed go to the others in a rebalance. A client that still runs joins again."),
      table([
        { head: "remove", cell: (each) => boxes[members.indexOf(each)] },
        { head: "member", name: true, cell: (each) => short(each.name) },
        { head: "host", cell: (each) => bdi(each.client_host) },
        { head: "partitions", number: true, cell: (each) => count(each.partitions) },
      ], members),
    ];
    const chosen = () => members.filter((_, index) => boxes[index].checked).map((each) => each.member_id);
    const confirm = async () => {
      if (!chosen().length) throw new Error("No member is chosen.");
      await post("remove-members", groupId, { member_ids: chosen() });
    };
    return { content, words: "remove the chosen members", confirm };
  });
}

function deleteGroup(groupId) {
  dialog("Delete group", groupId, null, async () => {
    const { members, offsets } = await get(address("plans", "delete-group", groupId));
    const content = [
      members.length ? el("p", { class: "warn" }, `The group has ${counted(members.length, "member")}. Kafka deletes a group only while it has none: stop its consumers first.`) : null,
      el("p", {}, offsets.length ? `${counted(offsets.length, "committed offset")} will be lost:` : "It has no committed offsets to lose."),
      offsets.length ? offsetsTable(offsets) : null,
    ];
    return { content, words: "delete the group", confirm: () => post("delete-group", groupId, { group_id: groupId }) };
  });
}
