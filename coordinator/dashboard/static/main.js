// The pages by their addresses, and the data that they show.

import { groupLink, here, link } from "./address.js";
import { dispose } from "./charts.js";
import { el, holdHeight, show } from "./dom.js";
import { groupPage } from "./group.js";
import * as live from "./live.js";
import { memberPage } from "./member.js";
import { overviewPage } from "./overview.js";
import { usesUtc, useUtc, zoneName } from "./times.js";
import { topicPage, topicsPage } from "./topic.js";

const REFRESH_MS = 300;

export async function get(path) {
  const response = await fetch(path);
  const body = await response.json().catch(() => ({ error: `${response.status} ${response.statusText}` }));
  if (!response.ok) throw new Error(body.error || response.statusText);
  return body;
}

// A view: what makes it, its key (views of one key replace each other without a trace), and the group that it is about.
function route() {
  const { parts, parameters } = here();
  const [kind, name, part, id] = parts;
  if (kind === "topics") return name === undefined ? { make: topicsPage, key: "topics" } : { make: () => topicPage(name), key: `topic ${name}` };
  if (kind !== "groups" || name === undefined) return { make: () => overviewPage(parameters), key: "overview" };
  if (part === "members" && id !== undefined) return { make: () => memberPage(name, id), key: `member ${name} ${id}`, group: name };
  const chosen = part === "generations" && /^\d{1,10}$/.test(id) ? Number(id) : null;
  return { make: () => groupPage(name, chosen, parameters), key: `group ${name}`, group: name };
}

let current = null;
let timer = null;
let lagTime = null;
let drawLag = null; // draws the lag of the page again, without the rest of it

export const onLag = (draw) => { drawLag = draw; };
let drawing = Promise.resolve();

function draw(isNew) {
  const { make, key, group } = route();
  if (isNew && (!current || current.key !== key)) { dispose(); show("Loading", el("p", { class: "quiet" }, "Loading…")); }
  current = { key, group };
  drawLag = null;
  drawing = drawing.then(async () => {
    if (current.key !== key) return;
    holdHeight();
    try {
      await make();
    } catch (problem) {
      dispose();
      show("Nothing to show", el("h1", {}, "There is nothing to show"), el("p", { class: "bad" }, problem.message), el("p", {}, el("a", { href: "#/" }, "All groups")));
    }
  });
}

export const refresh = () => refreshSoon();

// Changes come faster than anybody reads: a page is drawn again once after several.
function refreshSoon() {
  if (timer === null) timer = setTimeout(() => { timer = null; draw(false); }, REFRESH_MS);
}

live.listen((message) => {
  const { groups, lag_ms: lagMs } = message;
  if (lagMs !== undefined && lagMs !== lagTime) {
    lagTime = lagMs;
    if (drawLag) drawLag();
    else if (current && document.activeElement?.tagName !== "SELECT") refreshSoon();
  }
  if (groups === null || (current && (current.group === undefined || groups.includes(current.group)))) refreshSoon();
});

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("theme", theme);
  draw(false);
}

document.getElementById("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
const zone = document.getElementById("zone");

function showZone() {
  zone.textContent = usesUtc() ? "UTC" : "local";
  zone.title = `Times are in ${zoneName()}. Switch to ${usesUtc() ? "local time" : "UTC"}.`;
  zone.setAttribute("aria-label", zone.title);
}

zone.addEventListener("click", () => {
  useUtc(!usesUtc());
  showZone();
  draw(false);
});

const query = document.getElementById("query");
const searched = () => link("#/", { search: query.value, offset: "", range: "", compare: "" });

// Only the first letter makes an address that "back" returns from.
query.addEventListener("input", () => {
  if (current?.key === "overview") location.replace(searched());
  else location.hash = searched();
});

// Enter opens the group if one alone is found, or one has just this name.
document.getElementById("search").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (!query.value) return;
  const { parameters } = here();
  const choice = { search: query.value, limit: 2, sort: "group", dead: parameters.has("dead") ? "shown" : "hidden", state: parameters.get("state") ?? "" };
  const found = await get(`/api/groups?${new URLSearchParams(choice)}`).catch(() => ({ total: 0, groups: [] }));
  const hit = found.total === 1 ? found.groups[0] : found.groups.find((each) => each.group_id === query.value);
  if (hit) location.hash = groupLink(hit.group_id);
  else if (location.hash !== searched()) location.hash = searched();
});

// An address after the `#` would be that of another view.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("page").focus();
});

document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === "/" && !typing) { event.preventDefault(); query.focus(); query.select(); }
  if (event.key === "Escape" && typing) event.target.blur();
});
window.addEventListener("hashchange", () => draw(true));

showZone();
const saved = localStorage.getItem("theme");
document.documentElement.dataset.theme = saved || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
// A page that is to be printed or photographed is drawn once: with ?still it opens no stream that never ends.
const still = new URLSearchParams(location.search).has("still");
(still ? get("/api/overview").then(live.take) : live.connect()).finally(() => draw(true));
