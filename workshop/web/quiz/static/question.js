// A question with what one answers it by, from `view` of workshop/quiz/types/base.py: all forms, for all views.

import { button, command, element, letter, unseen } from "./dom.js";
import { ordering } from "./ordering.js";
import { placing } from "./placing.js";

// The only place where HTML is set. It comes from the `html` fields of workshop/quiz/rendering.py, which makes it from
// Markdown with raw HTML switched off, links only as text, and formulas as MathML: nothing in it was written as HTML by
// anybody. Everything else (nicknames, answers, units) is text and goes through `element`.
export function rendered(tag, className, html) {
  const made = element(tag, `rich ${className}`.trim());
  made.innerHTML = html;
  return made;
}

export function letterOf(key) {
  return element("span", "letter", letter(key));
}

// What is asked: its text, its picture, and what will be run or is given. `id` is where others refer to the text.
export function asked(shown, id = null) {
  const text = rendered("div", "q-text", shown.html);
  if (id) text.id = id;
  const parts = [text];
  if (shown.picture) {
    const image = element("img");
    image.src = shown.picture.src;
    image.alt = shown.picture.alt;
    parts.push(element("figure", "q-picture", image));
  }
  if (shown.runs?.length) {
    parts.push(element("div", "q-given", element("p", "label", "What will be run"),
      element("ul", "", shown.runs.map((run) => element("li", "", command(run))))));
  }
  const given = [["Machine", shown.machine], ["Given", shown.given]].filter(([, words]) => words);
  if (given.length) {
    parts.push(element("dl", "q-given", given.map(([label, words]) => [element("dt", "label", label), element("dd", "", words)])));
  }
  return parts;
}

// A question to be answered. `changed` is called after each change; `answer` is what to begin with.
// Gives root, read() (the raw answer, or null where something is missing), missing (what to say then), write(raw),
// lock(on), part() (what there is of an unfinished
// answer, which write takes, too), and rows: option's element by key.
export function question(shown, { answer = null, changed = () => {} } = {}) {
  const id = `text-${shown.id}`;
  const kind = FORMS[shown.form](shown, changed);
  const field = element("fieldset", "q-answer", kind.nodes);
  field.setAttribute("aria-labelledby", id);
  if (answer !== null) kind.write(answer);
  const root = element("section", `q is-${shown.form}`, asked(shown, id), field);
  root.dataset.question = shown.id;
  return {
    root,
    rows: kind.rows ?? {},
    read: kind.read,
    part: kind.part ?? kind.read,
    missing: kind.missing,
    write: kind.write,
    lock: (on) => { field.disabled = on; root.classList.toggle("locked", on); },
  };
}

function hint(words) {
  return element("p", "hint", words);
}

function choices(shown, changed) {
  const many = shown.form === "choices";
  const inputs = [];
  const rows = {};
  for (const { key, html } of shown.options) {
    const input = element("input");
    input.type = many ? "checkbox" : "radio";
    input.name = `answer-${shown.id}`;
    input.value = key;
    input.addEventListener("change", () => { paint(); changed(); });
    inputs.push(input);
    rows[key] = element("label", "option", input, letterOf(key), rendered("span", "option-text", html));
  }
  const paint = () => inputs.forEach((input) => input.parentElement.classList.toggle("chosen", input.checked));
  const chosen = () => inputs.filter((input) => input.checked).map((input) => input.value);
  return {
    nodes: [many ? hint("Choose all that are right.") : null, element("div", "options", Object.values(rows))],
    rows,
    missing: many ? "Choose at least one answer first." : "Choose an answer first.",
    read: () => (chosen().length === 0 ? null : many ? chosen() : chosen()[0]),
    write: (raw) => { inputs.forEach((input) => { input.checked = [raw].flat().includes(input.value); }); paint(); },
  };
}

function typed(shown, changed, { mode, label, unit = "", longest }) {
  const input = element("input", "typed");
  input.type = "text";
  input.inputMode = mode;
  input.maxLength = longest;
  input.autocomplete = "off";
  input.spellcheck = false;
  input.setAttribute("autocapitalize", "off");
  input.setAttribute("enterkeyhint", "done");
  input.addEventListener("input", changed);
  const row = element("span", "typed-row", input, unit ? element("span", "unit", unit) : null);
  // The keypad of some phones that has a decimal point has no minus.
  if (mode === "decimal") {
    const sign = button("±", "sign", () => {
      input.value = /^\s*[-−]/.test(input.value) ? input.value.replace(/^\s*[-−]\s*/, "") : `-${input.value}`;
      changed();
    });
    sign.setAttribute("aria-label", "Change the sign");
    row.append(sign);
  }
  return {
    nodes: [element("label", "typed-label", element("span", "label", label), row)],
    missing: mode === "text" ? "Type an answer first." : "Type a number first.",
    read: () => input.value.trim() || null,
    write: (raw) => { input.value = String(raw); },
  };
}

function numeric(shown, changed) {
  if (shown.whole) return typed(shown, changed, { mode: "numeric", label: "Which rank? Its number, from 0", longest: 12 });
  const label = shown.measured ? "Your prediction" : "Your answer";
  return typed(shown, changed, { mode: "decimal", label, unit: shown.unit, longest: 60 });
}

function order(shown, changed) {
  const items = shown.items.map(({ key, html }) => {
    const node = rendered("span", "item-text", html);
    return { key, node, words: node.textContent.trim() };
  });
  const list = ordering(items, changed);
  return {
    nodes: [hint("Drag into the right order, first at the top, or use the arrows."), list.root],
    missing: "",
    read: list.read,
    write: list.write,
  };
}

// A choice in a list can only have plain words: where these say less than the text, all are shown in full above.
function match(shown, changed) {
  const full = shown.rights.map(({ key, html }) => ({ key, node: rendered("span", "option-text", html) }));
  const plain = full.every(({ node }) => node.textContent.length <= 48 && !node.querySelector("math, pre, img"));
  const selects = {};
  const rows = shown.lefts.map(({ key, html }) => {
    const select = element("select");
    select.append(new Option("Choose …", ""));
    for (const right of full) {
      const words = right.node.textContent.trim();
      select.append(new Option(plain ? `${letter(right.key)}: ${words}` : letter(right.key), right.key));
    }
    select.addEventListener("change", changed);
    selects[key] = select;
    const left = rendered("span", "left", html);
    left.id = `left-${shown.id}-${key}`;
    select.setAttribute("aria-labelledby", left.id);
    return element("div", "pair", left, select);
  });
  const list = element("ul", "rights", full.map(({ key, node }) => element("li", "", letterOf(key), node)));
  return {
    nodes: [hint("Choose for each what belongs to it."), plain ? null : list, element("div", "pairs", rows)],
    missing: "Choose something for each first.",
    read: () => {
      const chosen = Object.entries(selects).map(([key, select]) => [key, select.value]);
      return chosen.every(([, right]) => right) ? Object.fromEntries(chosen) : null;
    },
    // What has been chosen so far, for whoever comes back to a half-written answer.
    part: () => Object.fromEntries(Object.entries(selects).map(([key, select]) => [key, select.value])),
    write: (raw) => { for (const [key, right] of Object.entries(raw)) if (selects[key]) selects[key].value = right; },
  };
}

const FORMS = {
  choice: choices,
  choices,
  number: numeric,
  order,
  match,
  text: (shown, changed) => typed(shown, changed, { mode: "text", label: "Your answer, in a few words", longest: 500 }),
  fields: placing,
};
