// What the host of a round can do: one button for what comes next, smaller ones for the rest, and keys for all.

import { arrange, button, element, say } from "./dom.js";

const KEYS = "workshop-quiz-keys"; // in the browser's storage: "off" where single keys should do nothing
const MORE = 15; // seconds
const SETTLE = 1500; // milliseconds in which the key for what comes next is not taken: a clock or a run was quicker

// What comes next, as a command and a label that says what it does; null where there is nothing to do.
export function next(state) {
  const { phase, number, of, question, measuring, first } = state;
  const last = number >= of;
  const open = last ? ["next", "Podium"] : ["next", phase === "lobby" ? "Open question 1" : `Open question ${number + 1}`];
  switch (phase) {
    case "lobby": return ["next", "Open question 1"];
    case "question": return ["close", "Close now"];
    case "closed": if (state.can.includes("discuss") && first?.talk !== false) return ["discuss", "Talk, then vote again"];
      return question?.measured ? ["run", "Run it on the cluster"]
      : ["explain", question?.marked === false ? "Show the explanation" : "Show answer"];
    case "discussing": return ["vote", "Vote again"];
    case "measuring": return measuring?.problem ? ["run", "Run it again"] : [null, "Measuring…"];
    case "explained": return state.can.includes("ranking") && !last ? ["ranking", "Ranking"] : open;
    case "ranking": return open;
    case "podium": return ["end", "End the round"];
    default: return null;
  }
}

// The others: command, label, key, and a value. The server says which are possible now.
const OTHERS = [
  ["pause", "Pause", "p"],
  ["resume", "Go on", "p"],
  ["extend", `+${MORE} s`, "t", MORE],
  ["reopen", "Open again", "r"],
  ["discuss", "Talk, then vote again", "d"],
  ["explain", "Show answer", "a"],
  ["run", "Run it on the cluster", "c"],
  ["skip", "Skip", "s"],
  ["podium", "Podium now", ""],
  ["end", "End the round", ""],
];
const possible = (state) => OTHERS.filter(([what]) => state.can.includes(what) && next(state)?.[0] !== what);
const INSTEAD = { pause: "resume", resume: "pause" }; // takes the focus of one that is gone
const SURE = new Set(["end", "podium", "skip"]); // asked about once more

export function commands({ send }) {
  const label = element("span", "");
  const main = button(label, "next", () => act());
  main.append(key("n"));
  const others = element("div", "others");
  const root = element("section", "commands", main, others, keysSwitch());
  root.setAttribute("aria-label", "What to do");
  let state = null, sure = null, waiting = false, settled = 0;
  const made = new Map(OTHERS.map(([what, ...told]) => [what, other(what, ...told)]));

  // A double click is one: until the server has said something, nothing more is asked of it.
  function act() {
    const [what] = (state && next(state)) ?? [];
    if (!what || waiting) return;
    waiting = true;
    setTimeout(() => { waiting = false; }, 3000);
    send(what);
  }

  function show(now) {
    if (state && (state.phase !== now.phase || state.number !== now.number)) {
      sure = null;
      if (!waiting) settled = performance.now() + SETTLE;
    }
    state = now;
    waiting = false;
    const following = next(state);
    main.hidden = !following;
    if (following) {
      say(label, following[1]);
      main.disabled = !following[0];
    }
    const focused = document.activeElement?.dataset?.do;
    arrange(others, possible(state).flatMap(([what]) => made.get(what).show()));
    if (focused && !others.contains(document.activeElement)) others.querySelector(`[data-do="${INSTEAD[focused]}"]`)?.focus();
  }

  function other(what, words, shortcut, value) {
    const text = element("span", "", words);
    const root = button(text, "", (event) => {
      if (SURE.has(what) && sure !== what) { sure = what; show(state); return; }
      if (SURE.has(what) && event.detail > 1) return; // the second half of a double click has read nothing
      sure = null;
      send(what, value);
    });
    const no = button("No", "", () => { sure = null; show(state); root.focus(); });
    root.addEventListener("keydown", (event) => { if (event.repeat) event.preventDefault(); }); // nor has a held key
    root.dataset.do = what;
    if (shortcut) root.append(key(shortcut));
    return {
      show: () => {
        say(text, sure === what ? `${words}: yes, do it` : words);
        root.className = sure === what ? "sure" : "";
        return sure === what ? [root, no] : [root];
      },
    };
  }

  document.addEventListener("keydown", (event) => {
    if (!state || event.repeat || event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, select, textarea")) return;
    // Presenters' remotes send the keys of a page up and down.
    const early = performance.now() < settled;
    if (event.key === "PageDown") { event.preventDefault(); if (!early) act(); return; }
    if (keysOff()) return;
    const pressed = event.key.toLowerCase();
    if (pressed === "n" && !early) act();
    const found = possible(state).find(([, , shortcut]) => shortcut === pressed);
    if (found) others.querySelector(`[data-do="${found[0]}"]`).click();
  });

  return { root, show };
}

function key(letter) {
  const made = element("kbd", "", letter.toUpperCase());
  made.setAttribute("aria-hidden", "true");
  return made;
}

function keysOff() {
  try { return localStorage.getItem(KEYS) === "off"; } catch { return false; }
}

// Who speaks to the computer, or leans on its keys, can switch single keys off.
function keysSwitch() {
  const input = element("input");
  input.type = "checkbox";
  input.checked = !keysOff();
  input.addEventListener("change", () => {
    try { localStorage.setItem(KEYS, input.checked ? "on" : "off"); } catch { /* then they stay on */ }
    document.body.classList.toggle("no-keys", !input.checked);
  });
  document.body.classList.toggle("no-keys", !input.checked);
  return element("label", "keys", input, " Use the keyboard: each button names its key, and Page Down takes the next step");
}
