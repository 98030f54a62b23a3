// Elements and words that all views of a quiz share. Whatever people wrote is only ever set as text.

export function element(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  for (const child of children.flat(2)) {
    if (child !== null && child !== undefined) made.append(child);
  }
  return made;
}

export function button(words, className, onClick) {
  const made = element("button", className, words);
  made.type = "button";
  made.addEventListener("click", onClick);
  return made;
}

// A nickname in a sentence: one that is written from right to left doesn't turn around what stands beside it.
export function name(nickname) {
  return element("bdi", "name", nickname);
}

// A command in a narrow place: lines end between its words, not at hyphens.
export function command(text) {
  return text.split(" ").flatMap((word, place) => [place ? " " : null, element("span", "word", word)]);
}

// Words for screen readers only.
export function unseen(words) {
  return element("span", "unseen", words);
}

const NUMBER = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 1 });
const PRECISE = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 3 });
const LETTERS = [[1e15, " P"], [1e12, " T"], [1e9, " G"], [1e6, " M"], [1e3, " k"]];

export function number(value) {
  return NUMBER.format(value);
}

// A measured or guessed value, as the server words it: an integer is exact, another number has three digits.
export function value(given) {
  const size = Math.abs(given);
  if (Number.isInteger(given) && size < 1e6) return NUMBER.format(given);
  const near = Number(given.toPrecision(3));
  const [factor, letter] = LETTERS.find(([least]) => Math.abs(near) >= Math.max(least, 1e5)) ?? [1, ""];
  const short = near / factor;
  if (Math.abs(short) >= 1e-3 && Math.abs(short) < 1e6) return PRECISE.format(short) + letter;
  const [digits, power] = short.toExponential().split("e");
  return `${digits}·10${[...String(Number(power))].map((sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]).join("")}${letter}`;
}

export function count(many, word) {
  return `${number(many)} ${word}${many === 1 ? "" : "s"}`;
}

// "A" for the option "a".
export function letter(key) {
  return key.toUpperCase();
}

// Set text only where it changed, so that a screen reader doesn't read it again.
export function say(node, words) {
  if (node.textContent !== words) node.textContent = words;
}

// Put these into a parent, in this order. Those that are there already stay in the page all along, as long as their order
// among themselves stays: a press that began before and ends after is still a press, and the focus stays where it is.
export function arrange(parent, wanted) {
  const stay = new Set(wanted);
  for (const there of [...parent.children]) if (!stay.has(there)) there.remove();
  let next = parent.firstElementChild;
  for (const one of wanted) {
    if (one === next) next = next.nextElementSibling;
    else parent.insertBefore(one, next);
  }
}

// What the page's HTML has for its script.
export const { round, title, nickname, code, image, join } = document.body.dataset;
