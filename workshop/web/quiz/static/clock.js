// Countdowns by the server's clock, which each of its states tells.

import { element, say } from "./dom.js";

const HEARD = 5; // how many of the last messages are looked at

// The offset is that of the message that travelled the shortest time: others came late, so their clock seems behind.
export function serverClock() {
  let offsets = [];
  return {
    hear: (now) => { offsets = [...offsets.slice(1 - HEARD), now - Date.now() / 1000]; },
    forget: () => { offsets = []; },
    now: () => Date.now() / 1000 + (offsets.length ? Math.max(...offsets) : 0),
  };
}

// A bar that becomes shorter, and the seconds that are left. `show` takes a state; `told` is called when few are left.
export function countdown(clock, told = () => {}) {
  const inner = element("div", "clock-inner");
  const words = element("span", "clock-words");
  const root = element("div", "clock", element("div", "clock-bar", inner), words);
  root.setAttribute("role", "timer");
  let state = null, total = 1, warned = false;

  function left() {
    if (state.left !== null) return state.left;
    return state.ends_at ? Math.max(0, state.ends_at - clock.now()) : null;
  }

  function draw() {
    const seconds = ["question", "discussing"].includes(state?.phase) ? left() : null;
    root.hidden = seconds === null;
    if (seconds === null) return;
    const paused = state.left !== null;
    total = Math.max(total, seconds);
    inner.style.transform = `scaleX(${(seconds / total).toFixed(4)})`;
    root.classList.toggle("paused", paused);
    root.classList.toggle("short", !paused && seconds <= 10);
    say(words, paused ? `Paused, ${Math.ceil(seconds)} s left` : `${Math.ceil(seconds)} s`);
    if (!paused && !warned && seconds <= 10 && seconds > 5 && total > 15) { warned = true; told("10 seconds left"); }
  }

  setInterval(draw, 200);
  return {
    root,
    left: () => (state?.phase === "question" ? left() : null),
    show: (next) => {
      if (next.question?.id !== state?.question?.id || next.phase !== state?.phase) {
        total = next.question?.seconds ?? 1;
        warned = false;
      }
      state = next;
      draw();
    },
  };
}
