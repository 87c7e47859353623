// The pages by their addresses, and the data that they show.

import { dispose } from "./charts.js";
import { el, show } from "./dom.js";
import * as live from "./live.js";
import { groupPage } from "./group.js";
import { memberPage } from "./member.js";
import { overviewPage } from "./overview.js";

const REFRESH_MS = 300;

export async function get(path) {
  const response = await fetch(path);
  const body = await response.json().catch(() => ({ error: `${response.status} ${response.statusText}` }));
  if (!response.ok) throw new Error(body.error || response.statusText);
  return body;
}

function route() {
  const [path, query] = location.hash.replace(/^#/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  const parameters = new URLSearchParams(query);
  if (parts[0] !== "groups" || parts.length < 2) return { make: () => overviewPage(parameters), key: "overview" };
  const group = parts[1];
  if (parts[2] === "members" && parts[3]) return { make: () => memberPage(group, parts[3]), key: location.hash, group };
  const chosen = parts[2] === "generations" ? Number(parts[3]) : null;
  return { make: () => groupPage(group, chosen, parameters), key: `group ${group}`, group };
}

let current = null;
let timer = null;
let lagTime = null;
let drawLag = null; // draws the lag of the page again, without the rest of it

export const onLag = (draw) => { drawLag = draw; };
let drawing = Promise.resolve();

function draw(isNew) {
  const { make, key, group } = route();
  if (isNew && (!current || current.key !== key)) { dispose(); show(el("p", { class: "quiet" }, "Loading…")); }
  current = { key, group };
  drawLag = null;
  drawing = drawing.then(async () => {
    if (current.key !== key) return;
    try {
      await make();
    } catch (problem) {
      dispose();
      show(el("h1", {}, "There is nothing to show"), el("p", { class: "bad" }, problem.message), el("p", {}, el("a", { href: "#/" }, "All groups")));
    }
  });
}

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
document.getElementById("search").addEventListener("submit", (event) => event.preventDefault());
document.getElementById("query").addEventListener("input", (event) => {
  location.hash = `#/?search=${encodeURIComponent(event.target.value)}`;
});
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === "/" && !typing) { event.preventDefault(); document.getElementById("query").focus(); }
  if (event.key === "Escape" && typing) event.target.blur();
});
window.addEventListener("hashchange", () => draw(true));

const saved = localStorage.getItem("theme");
document.documentElement.dataset.theme = saved || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
// A page that is to be printed or photographed is drawn once: with ?still it opens no stream that never ends.
const still = new URLSearchParams(location.search).has("still");
(still ? get("/api/overview").then(live.take) : live.connect()).finally(() => draw(true));
