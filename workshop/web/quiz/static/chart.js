// How answers are spread: bars of choices, dots of numbers, lists of words; and the ranking and the podium.

import { count, element, letter, name, number, value } from "./dom.js";
import { letterOf, rendered } from "./question.js";

// `own` is somebody's own answer, in the browser's form. Charts say in words what they show.
export function chart(distribution, { shown, solution = null, truth = null, own = null }) {
  return CHARTS[distribution.type](distribution, { shown, solution, truth, own });
}

function choices({ options }, { shown, own }) {
  const sum = options.reduce((total, option) => total + option.count, 0);
  // A full bar is everybody; where one may choose several, it is the option that most have chosen.
  const full = Math.max(1, ...(shown.form === "choices" ? options.map((option) => option.count) : [sum]));
  const texts = Object.fromEntries(shown.options.map(({ key, html }) => [key, html]));
  const mine = [own ?? []].flat();
  return element("ul", `chart bars${options.length > 6 ? " many" : ""}`, options.map(({ key, count: many, right }) => {
    const inner = element("div", "bar-inner");
    inner.style.width = `${(100 * many) / full}%`;
    const share = sum && shown.form !== "choices" ? ` · ${Math.round((100 * many) / sum)} %` : "";
    const words = [right ? "✓ right" : null, mine.includes(key) ? "yours" : null, number(many) + share].filter(Boolean);
    const row = element("li", `bar-row${right ? " is-right" : ""}`, letterOf(key), rendered("div", "bar-text", texts[key] ?? ""),
      element("span", "bar-count", words.join(" · ")), element("div", "bar", inner));
    row.dataset.key = key;
    row.dataset.count = many;
    return row;
  }));
}

const COLUMNS = 30;
const ROWS = 12; // dots on top of each other, before one dot is several answers

// The part of the axis that most answers are in: a single wild guess doesn't press all others into one column.
export function axisOf(values, truth) {
  const at = (share) => values[Math.round(share * (values.length - 1))];
  const points = [...(values.length ? [at(0.05), at(0.95)] : []), ...(truth === null ? [] : [truth])];
  let [low, high] = [Math.min(...points), Math.max(...points)];
  const log = low > 0 && high / low > 50;
  if (low === high) [low, high] = low === 0 ? [-1, 1] : [low - Math.abs(low) / 2, high + Math.abs(high) / 2];
  const scale = log ? Math.log10 : (x) => x;
  const [from, to] = [scale(low), scale(high)];
  const margin = 0.12 * (to - from);
  const place = (x) => (log && x <= 0 ? -Infinity : (scale(x) - from + margin) / (to - from + 2 * margin));
  return { low, high, log, place };
}

// Where the axis has numbers: its ends, or round numbers such as 30, 100 and 300 where it is logarithmic.
function ticksOf({ low, high, log }) {
  if (!log) return [low, high];
  const round = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power += 1)
    for (const digit of high / low > 1e3 ? [1] : [1, 3]) round.push(Number(`${digit}e${power}`));
  const within = round.filter((at) => low <= at && at <= high);
  return within.filter((_, place) => place % Math.ceil(within.length / 5) === 0);
}

function numbers({ values }, { shown, solution, truth, own }) {
  const right = truth?.value === undefined ? solution?.value ?? null : truth.value;
  if (shown.whole) return ranks(values, right);
  const unit = shown.unit ? ` ${shown.unit}` : "";
  if (!values.length && right === null) return element("p", "chart none", "Nobody has answered.");
  const axis = axisOf(values, right);
  const { log, place } = axis;
  const columns = Array.from({ length: COLUMNS }, () => 0);
  const beyond = { less: 0, more: 0 };
  for (const one of values) {
    const at = place(one);
    if (at < 0) beyond.less += 1;
    else if (at > 1) beyond.more += 1;
    else columns[Math.min(COLUMNS - 1, Math.floor(at * COLUMNS))] += 1;
  }
  const each = Math.max(1, Math.ceil(Math.max(...columns) / ROWS));
  const plot = element("div", "dots", columns.map((many) =>
    element("div", "column", Array.from({ length: Math.ceil(many / each) }, () => element("i", "dot")))));
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", spoken(values, right, unit, truth));
  const line = (at, className, words) => {
    const made = element("div", className, element("span", `line-words${at > 0.5 ? " on-left" : ""}`, words));
    made.style.left = `${100 * Math.min(1, Math.max(0, at))}%`;
    plot.append(made);
  };
  const mine = own === null ? NaN : Number(String(own).replace(/\s/g, "").replace(",", "."));
  if (right !== null) line(place(right), "line", `${truth ? "measured" : "right"}: ${value(right)}${unit}`);
  if (Number.isFinite(mine)) line(place(mine), "line mine", "you");
  const notes = [
    each > 1 ? `each dot is up to ${each} answers` : null,
    beyond.less ? `${count(beyond.less, "answer")} further left` : null,
    beyond.more ? `${count(beyond.more, "answer")} further right` : null,
    log ? "each step to the right multiplies" : null,
  ].filter(Boolean);
  const ends = ticksOf(axis);
  const told = new Set(ends.map(value)).size < ends.length ? (at) => String(Number(at.toPrecision(6))) : value;
  const tick = (at) => { const made = element("span", "tick", `${told(at)}${unit}`); made.style.left = `${100 * place(at)}%`; return made; };
  return element("div", "chart numbers", plot, element("div", "ticks", ends.map(tick)),
    notes.length ? element("p", "chart-notes", notes.join(" · ")) : null);
}

// Ranks are names rather than sizes: how often each was guessed.
function ranks(values, right) {
  const counts = new Map();
  for (const rank of [...values, ...(right === null ? [] : [right])]) counts.set(rank, 0);
  for (const rank of values) counts.set(rank, counts.get(rank) + 1);
  const answers = [...counts].sort(([one], [other]) => one - other)
    .map(([rank, many]) => ({ text: `rank ${rank}`, count: many, right: right === null ? null : rank === right }));
  return words({ answers });
}

function spoken(values, right, unit, truth) {
  const said = [count(values.length, "answer")];
  if (values.length) {
    said.push(`from ${value(values[0])} to ${value(values.at(-1))}${unit}`);
    said.push(`half of them below ${value(values[Math.floor(values.length / 2)])}${unit}`);
  }
  if (right !== null) said.push(`${truth ? "measured" : "right"}: ${value(right)}${unit}`);
  return said.join(", ");
}

function words({ answers }, { shown = null } = {}) {
  if (!answers.length) return element("p", "chart none", "Nobody has answered.");
  const most = Math.max(1, ...answers.map((answer) => answer.count));
  const letters = ["order", "match"].includes(shown?.form); // as beside the items
  return element("ul", `chart bars words${answers.length > 6 ? " many" : ""}`, answers.map(({ text, count: many, right }) => {
    const inner = element("div", "bar-inner");
    inner.style.width = `${(100 * many) / most}%`;
    return element("li", `bar-row${right ? " is-right" : ""}`,
      element("div", "bar-text", element("bdi", "", letters ? letter(text) : text)),
      element("span", "bar-count", right ? `✓ right · ${number(many)}` : number(many)), element("div", "bar", inner));
  }));
}

const CHARTS = { choices, numbers, words };

// Who has most points; `mine` is the nickname to be marked as one's own.
export function ranking(places, mine = null) {
  if (!places.length) return element("p", "none", "Nobody has points yet.");
  return element("ol", "ranking", places.map(({ place, nickname, points }) => {
    return element("li", nickname === mine ? "mine" : "", element("span", "place", `${place}.`), name(nickname),
      element("span", "points", count(points, "point")));
  }));
}

// The first three on steps (the style puts the first in the middle), the others below. Equal points, equal steps.
export function podium(places, mine = null) {
  if (!places.length) return element("p", "none", "Nobody has points.");
  const others = places.slice(3);
  const steps = places.slice(0, 3).map((one) => element("li", `step step-${one.place}`, name(one.nickname),
    element("span", "points", count(one.points, "point")), element("span", "stone", String(one.place))));
  return element("div", "podium", element("ol", "steps", steps), others.length ? ranking(others, mine) : null);
}

