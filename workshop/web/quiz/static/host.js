// The instructor's page of a round: what the projector shows in small, the one thing to do next, and the players.

import { chart } from "./chart.js";
import { serverClock } from "./clock.js";
import { commands } from "./commands.js";
import { connect, offline } from "./connection.js";
import { code, element, image, join, round, say, title } from "./dom.js";
import { roster } from "./roster.js";
import { bare, screen } from "./screen.js";

const clock = serverClock();
const view = screen({ clock, title, code, image, join });
const notice = element("p", "notice");
const measuring = element("p", "measuring-words");
for (const live of [notice, measuring]) live.setAttribute("role", "status");
notice.hidden = measuring.hidden = true;

let hideNotice = null;
// `stays`: where there is nothing else to see.
function tell(words, stays = false) {
  notice.hidden = !words;
  say(notice, words);
  clearTimeout(hideNotice);
  if (words && !stays) hideNotice = setTimeout(() => tell(""), 8000);
}

const line = connect(`quiz/${round}/socket?view=host`, {
  hear: (message) => {
    if (message.kind === "problem") { tell(message.why, !view.state()); if (view.state()) controls.show(view.state()); return; }
    view.hear(message);
    if (message.kind === "players") { players.show(message.players); first = message.first; votes(); }
    if (message.kind === "state") { tell(""); first = null; show(message); }
  },
  up: clock.forget,
  // Without a state the problem that was told says more.
  gone: (why) => { offline.hidden = true; if (view.state() && view.state().phase !== "ended") tell(why, true); },
});

// A command names the version that its button belonged to: a second click, or another tab that is behind, does nothing.
function send(what, value = null) {
  const sent = line.send({ kind: "command", do: what, value, version: view.state()?.version });
  if (!sent) tell("There is no connection to the server; try again when it is back.");
}

// The first vote is for the host alone, while the class may vote again.
let first = null;
const hidden = element("section", "hidden-votes");
hidden.setAttribute("aria-label", "First vote, for you only");
function votes() {
  const state = view.state();
  if (!state) return;
  hidden.hidden = !first;
  hidden.replaceChildren(...(first ? [
    element("p", "label", "First vote, for you only: the class doesn't see it"),
    element("p", "", first.right === null ? `${first.of} answered.` : `${first.right} of ${first.of} right. ${first.talk
      ? "Between 35 and 70 % right, talking helps most." : "Talking helps most between 35 and 70 % right."}`),
    chart(first.distribution, { shown: state.question }),
  ] : []));
  controls.show({ ...state, first });
}

const controls = commands({ send });
const AT_ONCE = 500; // ids in a message
function remove(ids) {
  for (let begin = 0; begin < ids.length; begin += AT_ONCE) send("remove", ids.slice(begin, begin + AT_ONCE));
}
const players = roster({ remove, lock: (locked) => send(locked ? "lock" : "unlock") });

function show(state) {
  document.body.dataset.phase = state.phase;
  votes();
  players.state(state);
  const { words = "", progress, problem } = state.measuring ?? {};
  const far = progress?.[1] ? ` ${Math.floor((100 * progress[0]) / progress[1])} %` : "";
  measuring.hidden = !(words || problem);
  measuring.classList.toggle("bad", Boolean(problem));
  say(measuring, problem ? `The run has failed: ${problem}` : `${words}${far}`);
}

function link(href, words, target = "") {
  const made = element("a", "", words);
  made.href = href;
  if (target) { made.target = target; made.rel = "noopener"; }
  return made;
}

const preview = element("section", "preview", element("div", "frame", view.root));
preview.setAttribute("aria-label", "What the projector shows");
const links = element("p", "links", link("./", "Home"), link(`quiz/${round}/projector`, "Projector view", "_blank"),
  link(`quiz/${round}/results`, "Results", "_blank"),
  element("span", "", "Learners join at ", link(join, bare(join), "_blank"), " with ", element("b", "code", code)));
// Learners can't reach this computer by the name that only it has for itself.
const alone = ["localhost", "127.0.0.1", "[::1]"].includes(new URL(join, location.href).hostname)
  ? element("p", "hint", "This address works on this computer only. For phones, start the workshop with --host 0.0.0.0 and open this page under this computer's address in the network; theirs follows.") : null;
document.body.append(
  element("header", "top", element("h1", "", title), offline),
  element("main", "host", element("div", "lead-side", [preview, controls.root, hidden, notice, measuring, links, alone].filter(Boolean)), players.root),
);
