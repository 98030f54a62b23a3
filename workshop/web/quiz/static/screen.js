// What everybody looks at: the projector's page, and in small the middle of the host's. It has no controls. With
// `showRuns` it shows the run that measures an answer.

import { chart, podium, ranking } from "./chart.js";
import { countdown } from "./clock.js";
import { arrange, count, element, name, number, say } from "./dom.js";
import { keepFit } from "./fit.js";
import { explained, rightOf } from "./outcome.js";
import { still } from "./still.js";

const SHOWN = 60; // nicknames in the lobby

export function screen({ clock, title, code, image, join, showRuns = false }) {
  const left = countdown(clock);
  const where = element("span", "screen-number");
  const many = element("span", "screen-count");
  const body = element("div", "screen-body");
  // The size of type follows the outer box, which the style takes the measure of.
  const root = element("div", "screen", element("div", "screen-page",
    element("header", "screen-top", element("span", "screen-title", title), where, many),
    body,
    element("footer", "screen-foot", left.root, code ? element("span", "screen-join", `${bare(join)} · `, element("b", "", code)) : null)));
  const again = keepFit(body);
  let state = null, players = [], key = "", update = null;

  function show() {
    if (!state) return;
    root.dataset.phase = state.phase;
    left.show(state);
    say(where, state.question && !["lobby", "podium", "ended"].includes(state.phase) ? `Question ${state.number} of ${state.of}${state.vote > 1 ? ", second vote" : ""}` : "");
    say(many, state.phase === "question" ? `${number(state.answered)} of ${number(state.players)} answered` : count(state.players, "learner"));
    const now = `${state.phase} ${state.question?.id}`;
    if (now !== key) {
      key = now;
      body.className = `screen-body screen-${state.phase}`;
      const nodes = VIEWS[state.phase]();
      update = nodes.update ?? null;
      body.replaceChildren(...[nodes.nodes ?? nodes].flat().filter(Boolean));
    }
    update?.();
    again();
  }

  const VIEWS = {
    lobby: () => {
      const qr = element("img", "qr");
      qr.src = image;
      qr.alt = `QR code of ${join}`;
      const here = element("p", "screen-here");
      const names = element("ul", "names");
      const rest = element("p", "rest");
      return {
        nodes: [
          element("div", "invite", element("div", "invite-words", element("p", "invite-title", title), element("p", "label", "Join at"),
            element("p", "address", bare(join)), element("p", "label", "with the code"), element("p", "code", code)), qr),
          element("div", "arrived", here, names, rest), element("p", "rules", state.rules),
        ],
        update: () => {
          say(here, state.players ? `${count(state.players, "learner")} ${state.players === 1 ? "is" : "are"} here` : "Nobody is here yet.");
          arrive(names, players.slice(-SHOWN).reverse());
          const more = state.players - Math.min(players.length, SHOWN);
          say(rest, players.length && more > 0 ? `and ${number(more)} more` : "");
        },
      };
    },
    question: () => [still(state.question)],
    closed: () => [still(state.question, { options: !state.distribution }), state.distribution ? spread() : null],
    discussing: () => [element("h1", "talk", "Talk to your neighbour, then vote again"), still(state.question)],
    measuring: () => {
      const words = element("p", "how");
      const bar = element("progress");
      bar.setAttribute("aria-label", "How far the run is");
      const run = showRuns ? element("iframe", "screen-run") : null;
      return {
        nodes: [still(state.question, { options: !run }), element("div", "measuring", words, bar, run)],
        update: () => {
          const { words: now, progress, problem, run: id } = state.measuring ?? {};
          if (run) run.hidden = !id;
          if (run && id && run.dataset.run !== String(id)) {
            run.dataset.run = id;
            run.title = `Run ${id}`;
            run.src = `run?run=${id}&projector=1`;
          }
          say(words, problem ? "The run has failed." : now || "It is being measured on the cluster.");
          bar.hidden = Boolean(problem);
          if (progress?.[1]) [bar.value, bar.max] = progress; else bar.removeAttribute("value");
        },
      };
    },
    explained: () => {
      const { question: shown, solution, truth } = state;
      const solved = Boolean(solution?.order || solution?.match);
      return [still(shown, { options: false, solution }), state.distribution ? spread() : null,
        solution ? explained(shown, solved ? { ...solution, html: "" } : solution, truth) : null];
    },
    ranking: () => [element("h1", "", "Ranking"), ranking(state.ranking ?? [])],
    podium: () => (state.ranking ? [element("h1", "", "The best of this round"), podium(state.ranking)]
      : element("h1", "", "That was the last question")),
    ended: () => [element("h1", "", "The round has ended"), state.ranking?.length ? podium(state.ranking) : null],
  };

  const drawn = (distribution) => chart(distribution, { shown: state.question, solution: state.solution, truth: state.truth });
  const spread = () => (state.first ? element("div", "votes",
    [[state.first.distribution, 0, "First vote"], [state.distribution, 1, "Second vote"]].map(([distribution, at, words]) =>
      element("section", "", element("h2", "", `${words}: ${rightOf(state.first, at)}`), drawn(distribution)))) : drawn(state.distribution));

  return {
    root,
    hear: (message) => {
      if (message.kind === "state") { clock.hear(message.now); state = message; }
      if (message.kind === "count" && state) state = { ...state, answered: message.answered, players: message.players };
      if (message.kind === "players" || message.kind === "names") players = message.players;
      show();
    },
    state: () => state,
    left: left.left,
  };
}

// An address as one types it: without what the browser adds, and the code, which stands beside it.
export function bare(address) {
  return (address ?? "").replace(/^https?:\/\//, "").replace(/\?.*$/, "");
}

// Newest first; who is there already stays, so that only new ones move in.
function arrive(list, players) {
  const there = new Map([...list.children].map((row) => [row.dataset.id, row]));
  const rows = players.map(({ id, nickname }) => {
    const row = there.get(String(id)) ?? element("li", "", name(nickname));
    row.dataset.id = id;
    return row;
  });
  arrange(list, rows);
}
