// The projector's page: what everybody looks at, and nothing to press.

import { serverClock } from "./clock.js";
import { connect, offline } from "./connection.js";
import { code, image, join, round, say, title } from "./dom.js";
import { screen } from "./screen.js";

const clock = serverClock();
const view = screen({ clock, title, code, image, join, showRuns: true });
view.root.setAttribute("role", "main");
document.body.append(view.root, offline);

// A projector that follows the class goes back to it when the round has ended.
const AFTER = 20_000; // milliseconds
let ended = false;
function follow() {
  if (ended || !location.search.includes("follow") || view.state()?.phase !== "ended") return;
  ended = true;
  setTimeout(() => location.replace("session?projector=1"), AFTER);
}

let problem = ""; // why nothing is shown
connect(`quiz/${round}/socket?view=projector`, {
  hear: (message) => { if (message.kind === "problem") problem = message.why; else view.hear(message); follow(); },
  up: clock.forget,
  gone: (why) => { offline.hidden = view.state()?.phase === "ended"; say(offline, view.state() ? why : problem || why); },
});
