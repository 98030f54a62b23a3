// One question of a round while it is open: a form, its draft, and the way of an answer to the server and back.

import { button, element, say } from "./dom.js";
import { question } from "./question.js";

const PATIENCE = 3000; // ms for a confirmation, before the line is taken for dead

export function answering({ shown, round, left, send, again }) {
  const draft = drafts(`quiz-draft-${round}-${shown.id}`);
  const status = element("p", "status");
  status.setAttribute("role", "status");
  const go = button("Send my answer", "send", submit);
  const note = element("p", "once", "One answer counts: it can be changed until it is sent.");
  const view = question(shown, { answer: null, changed: edited });
  const kept = draft.read();
  if (kept && kept.answer !== null) {
    view.write(kept.answer);
    say(status, "Not sent yet");
  }
  const root = element("form", "answering", view.root, element("div", "sending", status, go, note));
  root.noValidate = true;
  root.addEventListener("submit", (event) => { event.preventDefault(); submit(); });

  // An answer that is under way: {ref, answer}. It is sent again over a new line, under the same name.
  let pending = kept?.pending ?? null;
  let given = null; // the answer that the server has
  let done = false;
  let paused = false;
  let timer = null;
  let tried = false; // whether what is pending was sent over the line that is there now

  function edited() {
    if (done || pending) return;
    draft.write({ answer: view.part(), pending: null });
    status.className = "status";
    say(status, "Not sent yet");
  }

  function submit() {
    if (done || pending || paused) return;
    const answer = view.read();
    if (answer === null) return trouble(view.missing);
    pending = { ref: `${Date.now()}-${Math.random().toString(36).slice(2, 8)}`, answer };
    draft.write({ answer, pending });
    transmit();
  }

  function transmit() {
    clearTimeout(timer);
    const sent = send({ kind: "answer", question: shown.id, answer: pending.answer, ref: pending.ref });
    tried = true;
    view.lock(true);
    go.disabled = true;
    status.className = "status";
    say(status, sent ? "Sending…" : "It is sent as soon as the connection is back…");
    timer = setTimeout(() => { if (pending && sent) again(); }, PATIENCE);
  }

  // Kept by the server: nothing can be changed any more.
  function keep(answer) {
    clearTimeout(timer);
    pending = null;
    draft.clear();
    if (done) return;
    given = answer;
    view.write(answer);
    done = true;
    view.lock(true);
    go.hidden = true;
    note.hidden = true;
    root.classList.add("kept");
    status.className = "status good";
    say(status, "✓ Your answer is kept");
  }

  function trouble(words) {
    clearTimeout(timer);
    pending = null;
    status.className = "status bad";
    say(status, words);
    if (done) return;
    view.lock(false);
    go.disabled = paused;
  }

  return {
    root,
    answer: () => given,
    // Messages about this answer; true where it was meant.
    hear: ({ kind, question: id, ref, why, answer: first }) => {
      if (done) return id === shown.id;
      if (kind === "problem") return pending ? (trouble(why), true) : false;
      if (id !== shown.id || ref !== pending?.ref) return false;
      if (kind === "confirmed") keep(pending.answer);
      else if (first !== null && first !== undefined) { keep(first); say(status, why); } // sent from another tab before
      else { draft.write({ answer: pending.answer, pending: null }); trouble(why); }
      return true;
    },
    // What the newest state says: `kept` is the answer that the server has, or null.
    update: ({ paused: now, kept: known }) => {
      if (known !== null) return keep(known);
      if (done) return; // confirmed already; this was told before
      if (pending && !tried) transmit();
      paused = now;
      go.disabled = Boolean(pending) || paused || left() === 0;
      go.textContent = paused ? "Paused" : "Send my answer";
    },
    // The line is back: what was under way is sent again, unless the server tells before that it has it.
    resume: () => { tried = false; },
  };
}

// A half-written answer, in the browser's storage for this tab: it is there again after a reload.
function drafts(key) {
  const quietly = (act) => { try { return act(); } catch { return null; } }; // storage may be switched off
  return {
    read: () => quietly(() => JSON.parse(sessionStorage.getItem(key))),
    write: (kept) => quietly(() => sessionStorage.setItem(key, JSON.stringify(kept))),
    clear: () => quietly(() => sessionStorage.removeItem(key)),
  };
}
