// The learner's page of a round: what is asked, one's answer, and what came of it.

import { answering } from "./answering.js";
import { chart, podium, ranking } from "./chart.js";
import { countdown, serverClock } from "./clock.js";
import { connect, offline } from "./connection.js";
import { count, element, name, number, nickname, round, say, title, value } from "./dom.js";
import { explained, judged, marked, rightOf } from "./outcome.js";
import { question } from "./question.js";

const clock = serverClock();
const told = element("p", "unseen");
told.setAttribute("aria-live", "polite");
const tell = (words) => say(told, words);
const left = countdown(clock, tell);
const who = name(nickname);
const points = element("span", "points");
const main = element("main", "player");
main.id = "main";
document.body.append(
  element("header", "top", element("div", "top-row", element("span", "round-title", title), who, points), left.root, offline),
  main, told,
);

let state = null;
let you = null;
let view = null; // what is in `main`: a name, and update() for what may change while it is there
let over = false;

const line = connect(`quiz/${round}/socket?view=player`, {
  hear: (message) => HEARD[message.kind]?.(message),
  up: () => { clock.forget(); view?.resume?.(); },
  gone: (why) => { if (state?.phase !== "ended") finish("The round goes on elsewhere", why); offline.hidden = true; },
});

const HEARD = {
  state: (message) => {
    if (over) return;
    clock.hear(message.now);
    state = message;
    left.show(state);
    show();
  },
  you: (message) => {
    you = message;
    who.textContent = you.nickname;
    say(points, count(you.points, "point"));
    show();
  },
  confirmed: (message) => { if (view?.hear?.(message)) remember(message.question, view.answer()); },
  refused: (message) => { if (view?.hear?.(message) && (message.answer ?? null) !== null) remember(message.question, message.answer); },
  problem: ({ why }) => { if (!state) finish("This can't be joined", why); else if (!view?.hear?.({ kind: "problem", why })) tell(why); },
  removed: ({ why }) => finish("You are no longer in this round", why || "Your instructor has removed you from this round."),
};

function finish(heading, words) {
  if (over) return;
  over = true;
  line.close();
  offline.hidden = true;
  left.root.hidden = true;
  place("over", [element("h1", "", heading), element("p", "", words)]);
}

// The server closes a question when its time is up. Where it doesn't say so, the line is dead without knowing.
let late = 0;
setInterval(() => {
  late = left.left() === 0 ? late + 1 : 0;
  if (late > 4 && !over) { late = 0; line.again(); }
}, 1000);

// The server tells one's own answer again only when it is due.
function remember(id, answer) {
  you = { ...you, question: id, answer, confirmed: true };
}

// Put another view into the page, and the focus on its heading: who reads with a screen reader should know of it.
function place(named, nodes, more = {}) {
  view = { named, ...more };
  main.replaceChildren(...nodes.flat().filter(Boolean));
  main.dataset.view = named;
  const heading = main.querySelector("h1");
  if (heading) { heading.tabIndex = -1; heading.focus({ preventScroll: true }); }
  window.scrollTo(0, 0);
}

// The same view stays while it is the same question in the same phase: nothing that somebody is typing is lost.
function show() {
  if (over || !state || !you) return;
  document.body.dataset.phase = state.phase;
  const mineNow = state.phase === "question" ? "" : JSON.stringify(state.question ? mine(own) : [you.place, you.points]);
  const named = `${state.phase} ${state.question?.id ?? ""} ${mineNow}`;
  if (view?.named !== named) VIEWS[state.phase](named);
  view.update?.();
}

function heading(words) {
  return element("h1", "number", words);
}

const numbered = () => `Question ${state.number} of ${state.of}${state.vote > 1 ? ", second vote" : ""}`;
const own = () => (you.answer ?? null);
// What is told of one's own answer may be that of the question before, until the server tells the new one.
const mine = (made) => (you.question === undefined || you.question === state.question?.id ? made() : null);

const VIEWS = {
  lobby: (named) => {
    place(named, [heading("You are in"), element("p", "lead", "Hello, ", name(you.nickname), ". The first question comes here when it is opened."),
      element("p", "rules", state.rules)]);
  },

  question: (named) => {
    const shown = state.question;
    const form = answering({ shown, round, left: left.left, send: line.send, again: line.again });
    place(named, [heading(numbered()), form.root], {
      hear: form.hear,
      answer: form.answer,
      resume: form.resume,
      update: () => form.update({ paused: state.left !== null, kept: mine(() => (you.confirmed ? own() : null)) }),
    });
    tell(`${numbered()} is open, ${Math.ceil(left.left() ?? 0)} seconds`);
  },

  closed: (named) => {
    const answer = mine(own);
    place(named, [heading(numbered()), element("p", "notice", answer === null ? "The question is closed. There is no answer from you."
      : "The question is closed. Your answer is kept."), locked(answer).root, spread(answer)]);
    tell("The question is closed");
  },

  discussing: (named) => {
    place(named, [heading(numbered()), element("p", "lead", "Talk to your neighbour: say what you chose, and why. Then everybody votes again."),
      locked(mine(own)).root]);
    tell("Talk to your neighbour, then vote again");
  },

  measuring: (named) => {
    const words = element("p", "lead");
    const bar = element("progress");
    const problem = element("p", "problem");
    place(named, [heading(numbered()), words, bar, problem, prediction(mine(own))], {
      update: () => {
        const { words: now, progress, problem: wrong } = state.measuring ?? {};
        say(words, now || "The run is going on, on the class's cluster.");
        bar.hidden = Boolean(wrong);
        if (progress?.[1]) [bar.value, bar.max] = progress; else bar.removeAttribute("value");
        say(problem, wrong ? `The run has failed: ${wrong}` : "");
      },
    });
    tell("The answer is being measured");
  },

  explained: (named) => {
    const { question: shown, solution, truth } = state;
    const answer = mine(own);
    const result = element("div", "result");
    const votes = state.first ? element("p", "notice", `First vote: ${rightOf(state.first, 0)}. Second vote: ${rightOf(state.first, 1)}.`) : null;
    place(named, [heading(numbered()), result, votes, locked(answer).root, solution ? explained(shown, solution, truth) : null, spread(answer)], {
      update: () => {
        const mark = mine(() => you.mark) ?? null;
        const key = JSON.stringify(mark);
        if (result.dataset.key === key || (answer !== null && mark === null)) return; // the mark comes in a moment
        result.dataset.key = key;
        result.replaceChildren(judged(shown, mark));
        if (solution?.address && mark?.right === false) again.set(solution.address, solution.section);
        tell(result.textContent);
      },
    });
  },

  ranking: (named) => {
    place(named, [heading("Ranking"), standing(), state.ranking ? ranking(state.ranking, you.nickname) : null]);
    tell(main.querySelector(".standing").textContent);
  },

  podium: (named) => {
    place(named, [heading(state.ranking ? "The best of this round" : "That was the last question"), standing(), state.ranking ? podium(state.ranking, you.nickname) : null]);
    tell(main.querySelector(".standing").textContent);
  },

  ended: (named) => {
    new WebSocket(new URL("quiz/here", document.baseURI.replace("http", "ws"))); // who reads this page is here, see routes.py
    place(named, [heading("The round has ended"), element("p", "lead", "Thank you for taking part."), standing(),
      document.body.dataset.member ? ways() : null, state.ranking ? podium(state.ranking, you.nickname) : null]);
  },
};

// For members of the class: the sections of the lab that teach what they had wrong, and their home.
const again = new Map(); // address -> section
function ways() {
  const links = [...again, ["./", "Home"]].map(([address, words]) => {
    const made = element("a", "", address === "./" ? words : `Go over: ${words}`);
    made.href = address;
    return element("li", "", made);
  });
  return element("ul", "ways", links);
}

// A question that can't be answered any more, with the answer that one gave and how many chose what.
function locked(answer) {
  const made = question(state.question, { answer });
  made.lock(true);
  marked(made, state.solution, answer, state.distribution);
  return made;
}

// What everybody answered, unless the options tell it.
function spread(answer) {
  const { question: shown, distribution, solution, truth } = state;
  if (!distribution || shown.options) return null;
  return element("section", "spread", element("h2", "", "What everybody answered"), chart(distribution, { shown, solution, truth, own: answer }));
}

function prediction(answer) {
  if (answer === null) return element("p", "notice", "There is no prediction from you.");
  const words = Number.isFinite(Number(answer)) ? value(Number(answer)) : String(answer);
  return element("p", "notice", "Your prediction: ", element("b", "", `${words} ${state.question.unit ?? ""}`));
}

function standing() {
  const words = you.place ? `You are number ${number(you.place)} of ${number(you.of)} with ${count(you.points ?? 0, "point")}.`
    : `You have ${count(you.points ?? 0, "point")}.`;
  return element("p", "standing", words);
}
