// Charts by ECharts. Each has a table or text beside it that says the same, for those who cannot see it.

import { causeColour, causeWords, EMPTY_COLOUR, GAP_COLOUR, memberColours } from "./colours.js";
import { count, dateTime, duration, time, visible } from "./dom.js";

const open = new Map();

export function dispose() {
  for (const chart of open.values()) chart.dispose();
  open.clear();
}

window.addEventListener("resize", () => open.forEach((chart) => chart.resize()));

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function draw(element, option, onClick) {
  let chart = open.get(element.id);
  if (!chart || chart.getDom() !== element) {
    if (chart) chart.dispose();
    chart = window.echarts.init(element, null, { renderer: "canvas" });
    open.set(element.id, chart);
    if (onClick) chart.on("click", (event) => onClick(event.data));
  }
  const text = { color: css("--text") };
  chart.setOption({ animation: false, textStyle: text, grid: { left: 60, right: 16, top: 10, bottom: 44 }, ...option }, { notMerge: true });
  return chart;
}

const timeAxis = (min, max) => ({
  type: "time", min, max,
  axisLabel: { color: css("--quiet"), hideOverlap: true },
  axisLine: { lineStyle: { color: css("--line") } },
  splitLine: { show: true, lineStyle: { color: css("--line"), opacity: 0.5 } },
});

const tooltip = (formatter) => ({
  backgroundColor: css("--panel"), borderColor: css("--line"), textStyle: { color: css("--text") }, confine: true,
  // A node, not a string: ECharts would take a string for HTML.
  formatter: (event) => { const node = document.createElement("div"); node.innerText = formatter(event.data); return node; },
});

const zoom = () => [{ type: "inside", filterMode: "weakFilter" }, { type: "slider", height: 16, bottom: 4, filterMode: "weakFilter", labelFormatter: time, textStyle: { color: css("--quiet") } }];

export function rebalancesPerHour(element, hours) {
  draw(element, {
    grid: { left: 44, right: 10, top: 10, bottom: 26 },
    tooltip: tooltip((data) => `${dateTime(data[0])}: ${count(data[1])} rebalances`),
    xAxis: timeAxis(),
    yAxis: { type: "value", minInterval: 1, axisLabel: { color: css("--quiet") }, splitLine: { lineStyle: { color: css("--line") } } },
    series: [{ type: "bar", data: hours, itemStyle: { color: "#0072B2" }, barMaxWidth: 26 }],
  });
}

// Points are [time, records, seconds]; what is not known is null.
export function lagChart(element, points, now) {
  const axis = (name, position, label) => ({
    type: "value", min: 0, position, name, nameTextStyle: { color: css("--quiet") }, minInterval: 1,
    axisLabel: { color: css("--quiet"), formatter: label }, splitLine: { show: position === "left", lineStyle: { color: css("--line") } },
  });
  const line = (name, index, yAxisIndex, colour) => ({
    name, type: "line", yAxisIndex, data: points.map((point) => [point[0], point[index]]), showSymbol: points.length < 3, lineStyle: { width: 2, type: index === 2 ? "dashed" : "solid" },
    itemStyle: { color: colour }, areaStyle: index === 1 ? { opacity: 0.15 } : null, connectNulls: false,
  });
  draw(element, {
    grid: { left: 62, right: 56, top: 44, bottom: 26 },
    legend: { top: 0, textStyle: { color: css("--text") } },
    tooltip: {
      ...tooltip(() => ""), trigger: "axis",
      formatter: ([event]) => {
        const node = document.createElement("div");
        const [at, lag, seconds] = points[event.dataIndex];
        node.innerText = `${time(at)}: ${lag === null ? "unknown" : count(lag)} records, ${seconds === null ? "age unknown" : duration(seconds * 1000)}`;
        return node;
      },
    },
    xAxis: timeAxis(Math.max(now - 3600000, Math.min(points[0]?.[0] ?? now, now - 60000)), now),
    yAxis: [axis("records", "left", short), axis("age", "right", shortAge)],
    series: [line("records", 1, 0, "#0072B2"), line("age of the oldest", 2, 1, "#D55E00")],
  });
}

function shortAge(seconds) {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 360) / 10} h` : `${Math.round(seconds / 8640) / 10} d`;
}

const short = new Intl.NumberFormat("en", { notation: "compact" }).format;

// A lane per row; items are {value: [row, from, to], colour, label, dashed, ...}.
function lanes(element, rows, items, range, words, onClick, height = 20, left = 150) {
  element.style.height = `${Math.max(90, rows.length * height + 70)}px`;
  draw(element, {
    grid: { left, right: 16, top: 8, bottom: 48 },
    tooltip: tooltip(words),
    dataZoom: zoom(),
    xAxis: timeAxis(range[0], range[1]),
    yAxis: { type: "category", data: rows.map(visible), inverse: true, axisTick: { show: false }, axisLine: { show: false }, axisLabel: { color: css("--text"), width: left - 14, overflow: "truncate" } },
    series: [{
      type: "custom", data: items, encode: { x: [1, 2], y: 0 }, clip: true,
      renderItem: (params, api) => {
        const [from, y] = api.coord([api.value(1), api.value(0)]);
        const [to] = api.coord([api.value(2), api.value(0)]);
        const tall = Math.max(4, api.size([0, 1])[1] * 0.72);
        const item = items[params.dataIndex];
        const whole = { x: from, y: y - tall / 2, width: Math.max(3, to - from), height: tall };
        const shape = window.echarts.graphic.clipRectByRect(whole, { x: params.coordSys.x, y: params.coordSys.y, width: params.coordSys.width, height: params.coordSys.height });
        return shape && { type: "rect", shape, style: { fill: item.hollow ? "transparent" : item.colour, stroke: item.chosen ? css("--text") : item.colour, lineWidth: item.chosen ? 3 : item.hollow ? 2 : 0, lineDash: item.dashed ? [4, 3] : null, opacity: item.faint ? 0.35 : 1 } };
      },
    }],
  }, onClick);
}

export function timeline(element, generations, now, chosen, onClick) {
  const shown = generations.filter((each) => each.started_ms !== null);
  const items = shown.flatMap((each, index) => {
    const next = shown[index + 1];
    const ended = each.ended_ms ?? now;
    const base = { generation: each, colour: causeColour(each.cause), chosen: each.generation_id === chosen };
    const rebalance = { ...base, value: [0, each.started_ms, ended], dashed: each.outcome !== "stable", hollow: each.outcome !== "stable" };
    if (each.outcome !== "stable") return [rebalance];
    return [rebalance, { ...base, value: [1, ended, next ? next.started_ms : now] }];
  });
  const words = ({ generation: each }) => `Generation ${each.generation_id}: ${causeWords(each.cause)}${each.member ? ` (${visible(each.member)})` : ""}\n${time(each.started_ms)}, ${each.outcome.replaceAll("_", " ")}${each.rebalance_ms === null ? "" : ` after ${duration(each.rebalance_ms)}`}${each.partitions === null ? "" : `\n${count(each.partitions_moved)} of ${count(each.partitions)} partitions moved`}`;
  lanes(element, ["rebalance", "working"], items, range(shown, now), words, ({ generation }) => onClick(generation.generation_id), 30, 90);
}

export function memberLanes(element, members, generations, now, onClick) {
  const colours = memberColours(members.map((each) => each.member.name));
  const items = members.flatMap((each, row) => each.spans.map((span) => ({
    value: [row, span[0], span[1] ?? now], colour: colours.get(each.member.name), member: each.member, generation: span[2], partitions: span[3], faint: span[3] === 0,
  })));
  const words = (item) => `${visible(item.member.name)} (${item.member.client_host})\ngeneration ${item.generation}: ${count(item.partitions)} partitions\n${time(item.value[1])} to ${time(item.value[2])}`;
  lanes(element, members.map((each) => each.member.name), items, range(generations, now), words, (item) => onClick(item.member.member_id));
}

export function partitionLanes(element, partitions, empty, generations, now) {
  const colours = memberColours(partitions.flatMap((each) => each.spans.map((span) => span[2])));
  const items = partitions.flatMap((each, row) => {
    const owned = each.spans.map((span) => ({ value: [row, span[0], span[1] ?? now], colour: colours.get(span[2]), owner: span[2], partition: each }));
    const gaps = each.spans.slice(1).map((span, index) => ({ value: [row, each.spans[index][1], span[0]], colour: GAP_COLOUR, owner: "no owner", partition: each }));
    const rests = empty.map(([from, to]) => ({ value: [row, from, to ?? now], colour: EMPTY_COLOUR, owner: "the group was empty", partition: each }));
    return [...owned, ...gaps.filter((gap) => gap.value[2] > gap.value[1]), ...rests];
  });
  const words = (item) => `${item.partition.topic}-${item.partition.partition}: ${visible(item.owner)}\n${time(item.value[1])} to ${time(item.value[2])} (${duration(item.value[2] - item.value[1])})`;
  lanes(element, partitions.map((each) => `${each.topic}-${each.partition}`), items, range(generations, now), words, null, 16);
  return colours;
}

function range(generations, now) {
  const first = generations.find((each) => each.started_ms !== null);
  const from = first ? first.started_ms : now - 60000;
  return [from - Math.max(1000, (now - from) * 0.01), now];
}
