// The page for learning alone. Where one is is in the address (#question), so that a reload and the browser's arrows lead
// there.

import { element } from "./dom.js";
import { selfStudy } from "./self_study.js";

const { deck, title } = document.body.dataset;
const base = `quiz/alone/${encodeURIComponent(deck)}`;
const back = element("a", "back", "All quizzes");
back.href = "quizzes";

async function ask(act, values) {
  const reads = { state: "/state", question: `/question/${encodeURIComponent(values.question)}` }[act];
  const how = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(values) };
  let answer;
  try {
    answer = await (reads ? fetch(base + reads) : fetch(`${base}/${act}`, how));
  } catch {
    throw new Error("The dashboard doesn't answer. Nothing is lost: try again in a moment.");
  }
  const given = await answer.json().catch(() => ({ error: "The dashboard's answer can't be read; load the page again." }));
  if (!answer.ok) throw new Error(given.error);
  return given;
}

const where = {
  read: () => decodeURIComponent(location.hash.slice(1)),
  write: (id) => { if (where.read() === id) study.show(); else location.hash = id; },
};
const study = await selfStudy({ root: document.body, title, ask, where, back, linked: true });
window.addEventListener("hashchange", study.show);
if (!study.up) document.body.dataset.line = "down";
