// Charts by ECharts. Each has a table or text beside it that says the same, for those who cannot see it.

import { causeColour, causeWords, EMPTY_COLOUR, GAP_COLOUR } from "./colours.js";
import { count, firstUpper, middle, readable, visible } from "./dom.js";
import { dateTime, duration, time, usesUtc } from "./times.js";

const open = new Map();
const zooms = new Map(); // id of a chart → what part of its range is looked at, over redraws of the page

export function dispose() {
  for (const chart of open.values()) chart.dispose();
  open.clear();
  zooms.clear();
}

window.addEventListener("resize", () => open.forEach((chart) => chart.resize()));

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function draw(element, option, onClick) {
  let chart = open.get(element.id);
  if (!chart || chart.getDom() !== element) {
    if (chart) chart.dispose();
    chart = window.echarts.init(element, null, { renderer: "canvas" });
    open.set(element.id, chart);
    if (onClick) chart.on("click", (event) => event.componentType === "series" && onClick(event.data));
    chart.on("datazoom", () => { const [{ start, end }] = chart.getOption().dataZoom; zooms.set(element.id, { start, end }); });
  }
  const text = { color: css("--text") };
  chart.setOption({ animation: false, useUTC: usesUtc(), textStyle: text, grid: { left: 60, right: 16, top: 10, bottom: 44 }, ...option }, { notMerge: true });
  return chart;
}

const timeAxis = (min, max) => ({
  type: "time", min, max,
  axisLabel: { color: css("--quiet"), hideOverlap: true },
  axisLine: { lineStyle: { color: css("--line") } },
  splitLine: { show: true, lineStyle: { color: css("--line"), opacity: 0.5 } },
});

// A node, not a string: ECharts would take a string for HTML. `lines` gives the lines of a datum.
const tooltip = (lines) => ({
  backgroundColor: css("--panel"), borderColor: css("--line"), textStyle: { color: css("--text") }, confine: true, extraCssText: "max-width: min(90vw, 520px); white-space: pre-wrap; overflow-wrap: anywhere",
  formatter: (event) => { const node = document.createElement("div"); node.textContent = lines(event.data ?? event).map(visible).join("\n"); return node; },
});

const zoom = (id) => {
  const kept = { filterMode: "weakFilter", ...zooms.get(id) };
  return [{ type: "inside", zoomOnMouseWheel: "ctrl", ...kept }, { type: "slider", height: 16, bottom: 4, labelFormatter: time, textStyle: { color: css("--quiet") }, ...kept }];
};

export function rebalancesPerHour(element, hours) {
  draw(element, {
    grid: { left: 44, right: 10, top: 10, bottom: 26 },
    tooltip: tooltip((data) => [`${dateTime(data[0])}: ${count(data[1])} rebalances`]),
    xAxis: timeAxis(),
    yAxis: { type: "value", minInterval: 1, axisLabel: { color: css("--quiet") }, splitLine: { lineStyle: { color: css("--line") } } },
    series: [{ type: "bar", data: hours, itemStyle: { color: "#0072B2" }, barMaxWidth: 26 }],
  });
}

const MARKS_TOLD = 4;
const LAG_SPAN_MS = 3600000;
const LAG_SPAN_LEAST_MS = 60000;

// The time that the chart of these points shows: [from, to].
export const lagSpan = (points, now) => [Math.max(now - LAG_SPAN_MS, Math.min(points[0]?.[0] ?? now, now - LAG_SPAN_LEAST_MS)), now];

// Points are [time, records, seconds]; what is not known is null. `generations` are lines where their rebalances began.
export function lagChart(element, points, span, generations) {
  const axis = (name, position, label) => ({
    type: "value", min: 0, position, name, nameTextStyle: { color: css("--quiet") }, minInterval: 1,
    axisLabel: { color: css("--quiet"), formatter: label }, splitLine: { show: position === "left", lineStyle: { color: css("--line") } },
  });
  const marks = {
    symbol: "none", silent: true, animation: false, label: { show: false },
    data: generations.map((each) => ({ xAxis: each.started_ms, lineStyle: { color: causeColour(each.cause), type: [4, 3], width: 1.5 } })),
  };
  const line = (name, index, yAxisIndex, colour) => ({
    name, type: "line", yAxisIndex, data: points.map((point) => [point[0], point[index]]), showSymbol: points.length < 3, lineStyle: { width: 2, type: index === 2 ? "dashed" : "solid" },
    itemStyle: { color: colour }, areaStyle: index === 1 ? { opacity: 0.15 } : null, connectNulls: false, markLine: index === 1 ? marks : null,
  });
  draw(element, {
    grid: { left: 62, right: 56, top: 44, bottom: 26 },
    legend: { top: 0, textStyle: { color: css("--text") } },
    tooltip: {
      ...tooltip(([event]) => {
        const [at, lag, seconds] = points[event.dataIndex];
        const since = points[event.dataIndex - 1]?.[0] ?? span[0];
        const until = event.dataIndex === points.length - 1 ? span[1] : at;
        const began = generations.filter((each) => since < each.started_ms && each.started_ms <= until).slice(-MARKS_TOLD);
        return [...began.map((each) => `${time(each.started_ms)}: ${each.name}, ${causeWords(each.cause)}`), `${time(at)}: ${lag === null ? "unknown" : count(lag)} records, ${seconds === null ? "age unknown" : duration(seconds * 1000)}`];
      }), trigger: "axis",
    },
    xAxis: timeAxis(...span),
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

const LABEL_PIXELS = 7; // of a character of a label, about
const LABELS_PIXELS = 170; // the most width of labels, the same for all charts, so that their axes are below each other

// A lane per row; items are {value: [row, from, to], colour, dashed, hollow, faint}. `band` is a time to point at: {from, to, words}.
function lanes(element, rows, items, range, { lines, onClick, height = 20, band = null }) {
  const left = Math.min(LABELS_PIXELS, Math.round(element.clientWidth * 0.32));
  const top = band ? 26 : 8;
  element.style.height = `${Math.max(90, rows.length * height + 62 + top)}px`;
  const shown = rows.map(readable);
  const chart = draw(element, {
    grid: { left, right: 16, top, bottom: 48 },
    tooltip: tooltip(lines),
    dataZoom: zoom(element.id),
    xAxis: timeAxis(range[0], range[1]),
    yAxis: {
      type: "category", data: shown.map((_, index) => index), inverse: true, axisTick: { show: false }, axisLine: { show: false }, triggerEvent: true,
      axisLabel: { color: css("--text"), interval: 0, formatter: (index) => middle(shown[index], Math.floor((left - 14) / LABEL_PIXELS)) },
    },
    series: [bandSeries(band), laneSeries(items)].filter(Boolean),
  }, onClick);
  // The whole text of a label that is cut.
  chart.on("mouseover", { componentType: "yAxis" }, (event) => { element.title = shown[event.value]; });
  chart.on("mouseout", { componentType: "yAxis" }, () => element.removeAttribute("title"));
}

const laneSeries = (items) => ({
  type: "custom", data: items, encode: { x: [1, 2], y: 0 }, clip: true, z: 3,
  renderItem: (params, api) => {
    const [from, y] = api.coord([api.value(1), api.value(0)]);
    const [to] = api.coord([api.value(2), api.value(0)]);
    const tall = Math.max(4, api.size([0, 1])[1] * 0.72);
    const item = items[params.dataIndex];
    const whole = { x: from, y: y - tall / 2, width: Math.max(3, to - from), height: tall };
    const shape = window.echarts.graphic.clipRectByRect(whole, plot(params));
    return shape && { type: "rect", shape, style: { fill: item.hollow ? "transparent" : item.colour, stroke: item.colour, lineWidth: item.hollow ? 2 : 0, lineDash: item.dashed ? [4, 3] : null, opacity: item.faint ? 0.35 : 1 } };
  },
});

const plot = ({ coordSys: { x, y, width, height } }) => ({ x, y, width, height });
const BAND_PIXELS = 8; // the least width of a band

// A time that stands out behind all lanes, with a pointer and its words above them: nothing like the frame of a lane.
function bandSeries(band) {
  if (!band) return null;
  return {
    type: "custom", data: [[0, band.from, band.to]], encode: { x: [1, 2], y: 0 }, clip: false, silent: true, z: 1,
    renderItem: (params, api) => {
      const { x, y, width, height } = plot(params);
      const [from] = api.coord([band.from, 0]);
      const [to] = api.coord([band.to, 0]);
      const spare = Math.max(0, BAND_PIXELS - (to - from)) / 2;
      const shape = window.echarts.graphic.clipRectByRect({ x: from - spare, y, width: to - from + 2 * spare, height }, { x, y, width, height });
      if (!shape) return null;
      const middleX = shape.x + shape.width / 2;
      const side = middleX > x + width / 2 ? "right" : "left";
      return { type: "group", children: [
        { type: "rect", shape, style: { fill: css("--link"), opacity: 0.22 } },
        { type: "polygon", shape: { points: [[middleX - 6, y - 9], [middleX + 6, y - 9], [middleX, y - 1]] }, style: { fill: css("--link") } },
        { type: "text", style: { text: band.words, x: middleX + (side === "left" ? 10 : -10), y: y - 16, align: side, fill: css("--link"), font: "600 12px system-ui, sans-serif" } },
      ] };
    },
  };
}

export function timeline(element, generations, range, chosen, onClick) {
  const shown = generations.filter((each) => each.started_ms !== null);
  const end = range[1];
  let band = null;
  const items = shown.flatMap((each, index) => {
    const next = shown[index + 1];
    const ended = each.ended_ms ?? end;
    if (each.generation_id === chosen) band = { from: each.started_ms, to: next ? next.started_ms : end, words: each.name };
    const base = { generation: each, colour: causeColour(each.cause) };
    const rebalance = { ...base, value: [0, each.started_ms, ended], dashed: each.outcome !== "stable", hollow: each.outcome !== "stable" };
    if (each.outcome !== "stable") return [rebalance];
    return [rebalance, { ...base, value: [1, ended, next ? next.started_ms : end] }];
  });
  lanes(element, ["rebalance", "working"], items, range, { lines: ({ generation }) => generationLines(generation), onClick: ({ generation }) => onClick(generation.generation_id), height: 30, band });
}

const generationLines = (each) => [
  `${firstUpper(each.name)}: ${causeWords(each.cause)}${each.member ? ` (${each.member})` : ""}`,
  `${dateTime(each.started_ms)}, ${each.outcome.replaceAll("_", " ")}${each.rebalance_ms === null ? "" : ` after ${duration(each.rebalance_ms)}`}`,
  ...(each.partitions === null ? [] : [`${count(each.partitions_moved)} of ${count(each.partitions)} partitions moved`]),
];

// `colours` are those of the members by name.
export function memberLanes(element, members, range, colours, onClick) {
  const items = members.flatMap((each, row) => each.spans.map((span) => ({
    value: [row, span[0], span[1] ?? range[1]], colour: colours.get(each.member.name), member: each.member, name: span[4], partitions: span[3], faint: span[3] === 0,
  })));
  const lines = (item) => [`${item.member.name} (${item.member.client_host})`, `${item.name}: ${count(item.partitions)} partitions`, spanWords(item.value)];
  lanes(element, members.map((each) => each.member.name), items, range, { lines, onClick: (item) => onClick(item.member.member_id) });
}

export function partitionLanes(element, partitions, empty, range, colours) {
  const items = partitions.flatMap((each, row) => {
    const owned = each.spans.map((span) => ({ value: [row, span[0], span[1] ?? range[1]], colour: colours.get(span[2]), owner: span[2], partition: each }));
    const gaps = each.spans.slice(1).map((span, index) => ({ value: [row, each.spans[index][1], span[0]], colour: GAP_COLOUR, owner: "no owner", partition: each }));
    const rests = empty.map(([from, to]) => ({ value: [row, from, to ?? range[1]], colour: EMPTY_COLOUR, owner: "the group was empty", partition: each }));
    return [...owned, ...gaps.filter((gap) => gap.value[2] > gap.value[1]), ...rests];
  });
  const lines = (item) => [`${item.partition.topic}-${item.partition.partition}: ${item.owner}`, `${spanWords(item.value)} (${duration(item.value[2] - item.value[1])})`];
  lanes(element, partitions.map((each) => `${each.topic}-${each.partition}`), items, range, { lines, height: 16 });
}

const spanWords = ([, from, to]) => `${dateTime(from)} to ${dateTime(to)}`;
