// A question as the projector shows it: everything that is asked and nothing to be typed.

import { element } from "./dom.js";
import { asked, letterOf, rendered } from "./question.js";

// Without `options` where a chart beside it has them. With a `solution`, what is to be ordered or matched is shown as it is
// right, under the letters that it was asked with.
export function still(shown, { options = true, solution = null } = {}) {
  const parts = options || !shown.options ? FORMS[shown.form](shown, solution) : null;
  return element("section", `q still is-${shown.form}`, asked(shown), parts);
}

function lettered(parts, className) {
  return element("ul", className, parts.map(({ key, html }) => element("li", "option", letterOf(key), rendered("span", "option-text", html))));
}

// Two columns where one would be long, or where many are short.
const wide = (parts) => parts.length > 6 || (parts.length > 4 && parts.every(({ html }) => html.replace(/<[^>]*>/g, "").length < 90));
const choices = (shown) => lettered(shown.options, `options${wide(shown.options) ? " two" : ""}`);
// Those that are named first, in that order, then the others.
const sorted = (parts, keys) => [...keys.map((key) => parts.find((part) => part.key === key)), ...parts.filter(({ key }) => !keys.includes(key))];
const line = (words) => element("p", "how", words);

const FORMS = {
  choice: choices,
  choices: (shown) => [line("More than one can be right."), choices(shown)],
  number: ({ unit, whole, measured }) => {
    if (whole) return line("Which rank? Its number, from 0");
    const label = measured ? "Your prediction" : "A number";
    return line(unit ? `${label}, in ${unit}` : label);
  },
  text: () => line("A few words"),
  order: (shown, solution) => (solution ? [line("The right order:"), lettered(sorted(shown.items, solution.order), "options solved")]
    : [line("Put into the right order:"), lettered(shown.items, `options${wide(shown.items) ? " two" : ""}`)]),
  match: (shown, solution) => {
    if (!solution) return [line("What belongs together?"), element("div", "columns", lettered(shown.lefts, "options"), lettered(shown.rights, "options"))];
    const rights = sorted(shown.rights, Object.values(solution.match));
    const pairs = shown.lefts.flatMap((left, at) => [left, rights[at]]);
    const others = rights.slice(shown.lefts.length);
    return [line("What belongs together:"), lettered(pairs, "options two solved"),
      others.length ? [line("What belongs to nothing:"), lettered(others, "options two")] : null];
  },
  fields: (shown) => [line("Compose a placement:"), element("ul", "asks", shown.fields.map(({ label }) => element("li", "", label)))],
};
