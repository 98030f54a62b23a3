// The players of a round, for its host: who is here, who has answered, who leads; taking some of them out, and letting
// nobody new in.

import { arrange, button, count, element, name, number, say } from "./dom.js";

const SHOWN = 200; // rows; a search finds the others

export function roster({ remove, lock }) {
  const heading = element("h2", "");
  const find = element("input", "find");
  find.type = "search";
  find.placeholder = "Find a nickname";
  find.setAttribute("aria-label", "Find a nickname");
  const rows = element("tbody", "");
  const rest = element("p", "rest");
  const head = element("tr", "", ["Nickname", "Answered", "Points", ""].map((words) => element("th", "", words)));
  const locking = button("Lock the round", "", () => { lock(!locked); });
  const choosing = button("Remove several", "", () => choose(true));
  const all = button("", "", () => { for (const { id } of found()) chosen.add(id); draw(); });
  const out = button("", "sure", () => { const ids = [...chosen]; choose(false); remove(ids); });
  const back = button("Don't remove", "", () => { choose(false); choosing.focus(); });
  const locksaid = element("p", "locked", "Locked: nobody new can join.");
  locksaid.setAttribute("role", "status");
  const tools = element("div", "tools");
  const rowOf = new Map(); // by the learner's id
  const root = element("section", "roster", heading, tools, locksaid, find, element("table", "", element("thead", "", head), rows), rest);
  root.setAttribute("aria-label", "Players");
  let players = [], asked = null, locked = false, ended = false;
  let chosen = null; // ids, while some are being chosen
  find.addEventListener("input", draw);

  function found() {
    const wanted = find.value.trim().toLocaleLowerCase();
    return players.filter(({ nickname }) => nickname.toLocaleLowerCase().includes(wanted));
  }

  function choose(begin) {
    chosen = begin ? new Set() : null;
    asked = null;
    draw();
    if (begin) all.focus();
  }

  function drawTools() {
    say(locking, locked ? "Unlock the round" : "Lock the round");
    locksaid.hidden = !locked;
    if (!chosen) { arrange(tools, ended ? [] : players.length > 1 ? [locking, choosing] : [locking]); return; }
    const some = found().filter(({ id }) => !chosen.has(id)).length;
    say(all, `Choose all ${find.value.trim() ? "found" : "learners"}`);
    all.disabled = !some;
    say(out, `Remove ${count(chosen.size, "learner")}`);
    out.disabled = !chosen.size;
    arrange(tools, [all, out, back]);
  }

  function draw() {
    if (chosen) { // who has gone meanwhile can't be removed
      const there = new Set(players.map(({ id }) => id));
      for (const id of chosen) if (!there.has(id)) chosen.delete(id);
    }
    drawTools();
    const here = players.filter((player) => player.here).length;
    say(heading, `${count(players.length, "learner")}, ${number(here)} here`);
    find.hidden = players.length <= 12;
    const matching = found();
    const shown = matching.slice(0, SHOWN);
    const there = new Set(shown.map(({ id }) => id));
    for (const id of rowOf.keys()) if (!there.has(id)) rowOf.delete(id);
    arrange(rows, shown.map((player) => {
      if (!rowOf.has(player.id)) rowOf.set(player.id, row(player));
      return rowOf.get(player.id)(player);
    }));
    say(rest, matching.length > SHOWN ? `and ${number(matching.length - SHOWN)} more` : "");
  }

  // A learner's row, as a function that shows what is now known of them and gives the row.
  function row({ id, nickname }) {
    const state = element("td", "");
    const points = element("td", "points");
    const { ask, yes, no } = takeOut(id, nickname);
    const asking = element("span", "asked", yes, no);
    const pick = element("input", "");
    pick.type = "checkbox";
    pick.setAttribute("aria-label", `Choose ${nickname}`);
    pick.addEventListener("change", () => { if (pick.checked) chosen?.add(id); else chosen?.delete(id); draw(); });
    const last = element("td", "");
    const root = element("tr", "", element("td", "", name(nickname)), state, points, last);
    return (player) => {
      root.className = player.here ? "" : "away";
      state.className = player.answered ? "answered" : "";
      say(state, player.answered ? "✓ answered" : player.here ? "" : "not here");
      say(points, number(player.points ?? 0));
      pick.checked = Boolean(chosen?.has(id));
      arrange(last, [chosen ? pick : asked === id ? asking : ask]);
      return root;
    };
  }

  function takeOut(id, nickname) {
    const ask = button("Remove", "quiet", () => { asked = id; draw(); yes.focus(); });
    const yes = button("Yes, remove", "sure", () => { asked = null; remove([id]); draw(); });
    const no = button("No", "", () => { asked = null; draw(); ask.focus(); });
    ask.setAttribute("aria-label", `Remove ${nickname}`);
    yes.setAttribute("aria-label", `Yes, remove ${nickname}`);
    return { ask, yes, no };
  }

  draw();
  return {
    root,
    show: (now) => { players = now; draw(); },
    state: (now) => { locked = Boolean(now.locked); ended = now.phase === "ended"; drawTools(); },
  };
}
