// Learning alone: one question after the other, each explained as soon as it is answered. The dashboard's page and a
// notebook's quiz are both this.

import { button, count, element, number, say } from "./dom.js";
import { explained, judged, marked } from "./outcome.js";
import { question, rendered } from "./question.js";

const LOOK = 1500; // ms between looks at runs that go on
const SELDOM = 6000; // and while nothing goes on that would change what is told
const LOOKS = { right: "answered and right", partly: "answered, partly right", wrong: "answered, not right", kept: "answered", open: "not answered" };

function lookOf({ answered, judged: known, right, share }) {
  if (!answered) return "open";
  if (!known || right === null) return "kept";
  return right ? "right" : share > 0 ? "partly" : "wrong";
}

// Fills `root`, and gives show(), which draws where one is, stop(), and whether the first answer came (`up`).
//
// `ask(act, values)` promises what `respond` of workshop/quiz/self_study.py returns, or an Error for the learner. `where`
// reads and writes where one is: a question's id, "score", or "" for the beginning; after a change, it calls show().
// `back` stands before the title, and labs are links with `linked`.
export async function selfStudy({ root, title, ask, where, back = null, linked = false }) {
  const points = element("span", "points");
  const steps = element("nav", "steps-through");
  steps.setAttribute("aria-label", "Questions");
  const trouble = element("p", "offline");
  trouble.setAttribute("role", "status");
  trouble.hidden = true;
  const told = element("p", "unseen");
  told.setAttribute("aria-live", "polite");
  const main = element("main", "player alone");
  main.id = "main";
  root.append(
    element("header", "top", element("div", "top-row", back, element("span", "round-title", title), points), steps, trouble),
    main, told,
  );

  let state = null;
  let timer = null;
  let begun = false; // whether anything was shown: only then is the reader taken to what is new

  function complain(words) {
    trouble.hidden = !words;
    say(trouble, words);
  }

  // Do something that asks the server, and say so where that fails. `tell` shows the problem, by default in the head.
  async function trying(act, tell = complain) {
    try {
      tell("");
      return await act();
    } catch (error) {
      tell(error.message);
      return null;
    }
  }

  const place = () => state.questions.findIndex(({ id }) => id === where.read());

  function head() {
    say(points, `${number(state.points)} of ${count(state.of, "point")}`);
    const here = place();
    steps.replaceChildren(...state.questions.map((one, at) => {
      const step = button(String(at + 1), `through ${lookOf(one)}`, () => where.write(one.id));
      step.setAttribute("aria-label", `Question ${at + 1}, ${LOOKS[lookOf(one)]}`);
      if (at === here) step.setAttribute("aria-current", "step");
      return step;
    }));
    steps.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }

  function put(nodes) {
    main.replaceChildren(...nodes.flat().filter(Boolean));
    const heading = main.querySelector("h1");
    if (heading) { heading.tabIndex = -1; if (begun) heading.focus({ preventScroll: true }); }
    if (begun) root.scrollIntoView();
    begun = true;
  }

  function show() {
    clearTimeout(timer);
    if (!state) return;
    head();
    if (where.read() === "score") score();
    else if (place() < 0) begin();
    else show_question(state.questions[place()].id);
  }

  function begin() {
    const answered = state.questions.filter((one) => one.answered).length;
    const next = state.questions.find((one) => !one.answered);
    put([element("h1", "", title), state.about ? rendered("div", "lead", state.about) : null,
      element("p", "", `${count(state.questions.length, "question")}, ${count(state.of, "point")}. Each is explained once you have answered it; one answer counts.`),
      element("div", "sending", button(answered && next ? "Go on" : answered ? "See how it went" : "Begin", "send",
        () => where.write(next ? next.id : "score")))]);
  }

  async function show_question(id) {
    const seen = await trying(() => asked("question", { question: id }));
    if (seen && state.questions[place()]?.id === id) draw(seen);
  }

  // A question as the server tells it.
  function draw(seen) {
    clearTimeout(timer);
    state = seen.state;
    head();
    const at = place();
    const heading = element("h1", "number", `Question ${at + 1} of ${state.questions.length}`);
    if (seen.answer === null) return put([heading, form(seen.shown), through(at)]);
    const view = question(seen.shown, { answer: seen.answer });
    view.lock(true);
    const result = seen.mark ? judged(seen.shown, seen.mark) : null;
    if (result) marked(view, seen.solution, seen.answer);
    put([heading, result, view.root, seen.measuring ? measuring(seen) : null,
      seen.solution ? explained(seen.shown, seen.solution, seen.truth, linked) : null,
      seen.truth ? element("p", "hint", `Measured by ${seen.truth.how}.`) : null, through(at)]);
    say(told, result?.textContent ?? "");
    return null;
  }

  function form(shown) {
    const status = element("p", "status");
    status.setAttribute("role", "status");
    const view = question(shown);
    const send = button(shown.measured ? "Keep my prediction" : "Answer", "send", submit);
    const root = element("form", "answering", view.root, element("div", "sending", status, send));
    root.noValidate = true;
    root.addEventListener("submit", (event) => { event.preventDefault(); submit(); });
    root.addEventListener("keydown", (event) => { // in JupyterLab, Enter sends no form by itself
      if (event.key === "Enter" && event.target.matches(".typed")) { event.preventDefault(); submit(); }
    });
    const complaint = (words) => { status.className = `status ${words ? "bad" : ""}`; say(status, words); };

    async function submit() {
      if (send.disabled) return;
      const answer = view.read();
      if (answer === null) { complaint(view.missing); return; }
      send.disabled = true;
      view.lock(true);
      const seen = await trying(() => asked("answer", { question: shown.id, answer }), complaint);
      if (seen) { if (state.questions[place()]?.id === shown.id) draw(seen); return; }
      send.disabled = false;
      view.lock(false);
    }
    return root;
  }

  // A prediction that is kept, and how far the runs are that it is checked against.
  function measuring({ shown, measuring: now }) {
    const problem = element("p", "problem");
    problem.setAttribute("role", "status");
    const bar = element("progress");
    bar.setAttribute("aria-label", "How much of the runs is done");
    if (now.progress) [bar.value, bar.max] = now.progress;
    const run = button("Run it now", "send", async () => {
      run.disabled = true;
      const seen = await trying(() => asked("run", { question: shown.id }), (words) => { problem.hidden = !words; say(problem, words); });
      run.disabled = false;
      if (seen && state.questions[place()]?.id === shown.id) draw(seen);
    });
    problem.hidden = !now.problem;
    say(problem, now.problem);
    if (!now.run) timer = setTimeout(() => show_again(shown.id), now.progress ? LOOK : SELDOM);
    return element("section", "measuring", element("p", "notice", now.words), now.progress ? bar : null, problem,
      now.run ? element("div", "sending", run) : null);
  }

  // Look again at runs, while somebody sees the page; only what has changed is drawn, so that nobody is thrown to the top of the page.
  async function show_again(id) {
    if (document.hidden || !main.isConnected) { timer = setTimeout(() => show_again(id), LOOK); return; }
    const seen = await trying(() => asked("question", { question: id }));
    if (state.questions[place()]?.id !== id) return;
    if (!seen) { timer = setTimeout(() => show_again(id), SELDOM); return; }
    const old = main.querySelector(".measuring");
    if (!seen.measuring || !old) { draw(seen); return; }
    old.replaceWith(measuring(seen));
  }

  function through(at) {
    const before = state.questions[at - 1];
    const next = state.questions[at + 1];
    return element("div", "through-row",
      before ? button("← Back", "plain", () => where.write(before.id)) : element("span"),
      button(next ? "Next →" : "How did it go?", "plain", () => where.write(next ? next.id : "score")));
  }

  function score() {
    const wrong = state.questions.filter((one) => ["wrong", "partly"].includes(lookOf(one)));
    const open = state.questions.filter((one) => !one.answered);
    const list = (heading, these) => (these.length ? element("section", "again", element("h2", "", heading),
      element("ul", "", these.map((one) => element("li", "", button(one.text, "plain", () => where.write(one.id)))))) : null);
    const sure = element("div", "sending", button("Start over", "plain", ask_again));

    function ask_again() {
      sure.replaceChildren(element("p", "", "Start over with other numbers and in another order? These answers are kept, but no longer shown."),
        button("Yes, start over", "send", over), button("No", "plain", score));
    }

    async function over() {
      const fresh = await trying(() => asked("again"));
      if (!fresh) return;
      state = fresh;
      where.write(state.questions[0].id);
    }

    const all = !open.length && !wrong.length;
    put([element("h1", "", open.length ? "So far" : "All answered"),
      element("p", "standing", `${number(state.points)} of ${count(state.of, "point")}`),
      all ? element("p", "lead", "Nothing to look at again.") : null,
      list("Look at these again", wrong), list("Not answered yet", open),
      state.questions.length > open.length ? sure : null]);
  }

  const asked = (act, values = {}) => ask(act, { ...values, attempt: state?.attempt });
  state = await trying(() => asked("state"));
  show();
  return { show, stop: () => clearTimeout(timer), up: state !== null };
}
