// What came of a question when it is due: the mark, what was right, and why.

import { count, element } from "./dom.js";
import { rendered } from "./question.js";

// How an answer was judged, as words and a class: `mark` is null where nothing was answered.
export function verdict(mark, points) {
  if (!mark) return ["No answer from you", "none"];
  if (mark.right === null) return ["Thank you for your answer", "none"];
  if (mark.right) return ["Right", "right"];
  if (mark.share > 0) return ["Partly right", "partly"];
  return points === 0 ? ["Not counted", "none"] : ["Not right", "wrong"];
}

const SIGNS = { right: "✓", wrong: "✗", partly: "◐", none: "" };

// A card for somebody who was asked: how it went, with the feedback to that answer.
export function judged(shown, mark) {
  const [words, look] = verdict(mark, shown.points);
  const sign = element("span", "sign", SIGNS[look]);
  sign.setAttribute("aria-hidden", "true");
  const head = element("p", "verdict", sign, element("b", "", words));
  if (mark && mark.right !== null && mark.points !== null && mark.points !== undefined) {
    head.append(element("span", "gained", `${mark.points > 0 ? "+" : ""}${count(mark.points, "point")}`));
  }
  // An option's feedback stands beside the option.
  const feedback = shown.options ? [] : (mark?.feedback ?? []);
  return element("div", `judged ${look}`, head, feedback.map((html) => rendered("div", "feedback", html)));
}

// What was right and why, for everybody; null where there is nothing to say. With `linked` the lab's section is a link:
// somebody who came in by the code of a round can't open it.
export function explained(shown, solution, truth = null, linked = false) {
  const parts = [];
  // Right options are marked as such. What was measured comes with the runs that it comes from.
  if (solution.html && !shown.options) {
    parts.push(element("div", "solution", element("p", "label", truth ? "Measured" : "Right answer"),
      truth?.words ? element("p", "", truth.words) : rendered("div", "", solution.html)));
  }
  if (solution.explanation) parts.push(rendered("div", "explanation", solution.explanation));
  if (solution.section) {
    const section = element(linked ? "a" : "span", "", solution.section);
    if (linked) section.href = solution.address;
    parts.push(element("p", "source", "Read about it in the lab: ", section));
  }
  if (shown.source) parts.push(element("p", "source", `Source: ${shown.source}`));
  return parts.length ? element("div", "explained", parts) : null;
}

// Marks the options of a question that was answered: which are right, which were chosen, how many chose them, and their
// feedback. `solution` and `distribution` may be null.
export function marked(view, solution, raw, distribution = null) {
  const chosen = [raw ?? []].flat();
  const solved = Object.fromEntries((solution?.options ?? []).map((option) => [option.key, option]));
  const counts = Object.fromEntries((distribution?.options ?? []).map((option) => [option.key, option.count]));
  for (const [key, row] of Object.entries(view.rows)) {
    const { right = null, feedback = "" } = solved[key] ?? {};
    const mine = chosen.includes(key);
    const many = counts[key] === undefined ? null : count(counts[key], "answer");
    const words = [right === true ? "✓ right" : null, mine ? "yours" : null, many].filter(Boolean).join(" · ");
    row.classList.toggle("is-right", right === true);
    row.classList.toggle("is-wrong", mine && right === false);
    if (words) row.append(element("span", "option-mark", words));
    if (feedback && (mine || right)) row.append(rendered("span", "feedback", feedback));
  }
}

// How many were right in the first vote (0) or the second vote (1).
export function rightOf({ right, of }, at) {
  return of[at] ? `${Math.round((100 * right[at]) / of[at])} % right` : "no answers";
}
