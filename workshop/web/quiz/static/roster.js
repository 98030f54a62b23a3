// The players of a round, for its host: who is here, who has answered, who leads; and taking somebody out.

import { arrange, button, count, element, name, number, say } from "./dom.js";

const SHOWN = 200; // rows; a search finds the others

export function roster({ remove }) {
  const heading = element("h2", "");
  const find = element("input", "find");
  find.type = "search";
  find.placeholder = "Find a nickname";
  find.setAttribute("aria-label", "Find a nickname");
  const rows = element("tbody", "");
  const rest = element("p", "rest");
  const head = element("tr", "", ["Nickname", "Answered", "Points", ""].map((words) => element("th", "", words)));
  const root = element("section", "roster", heading, find, element("table", "", element("thead", "", head), rows), rest);
  root.setAttribute("aria-label", "Players");
  const rowOf = new Map(); // by the learner's id
  let players = [], asked = null;
  find.addEventListener("input", draw);

  function draw() {
    const here = players.filter((player) => player.here).length;
    say(heading, `${count(players.length, "learner")}, ${number(here)} here`);
    find.hidden = players.length <= 12;
    const wanted = find.value.trim().toLocaleLowerCase();
    const found = players.filter(({ nickname }) => nickname.toLocaleLowerCase().includes(wanted));
    const shown = found.slice(0, SHOWN);
    const there = new Set(shown.map(({ id }) => id));
    for (const id of rowOf.keys()) if (!there.has(id)) rowOf.delete(id);
    arrange(rows, shown.map((player) => {
      if (!rowOf.has(player.id)) rowOf.set(player.id, row(player));
      return rowOf.get(player.id)(player);
    }));
    say(rest, found.length > SHOWN ? `and ${number(found.length - SHOWN)} more` : "");
  }

  // A learner's row, as a function that shows what is now known of them and gives the row.
  function row({ id, nickname }) {
    const state = element("td", "");
    const points = element("td", "points");
    const { ask, yes, no } = takeOut(id, nickname);
    const asking = element("span", "asked", yes, no);
    const last = element("td", "");
    const root = element("tr", "", element("td", "", name(nickname)), state, points, last);
    return (player) => {
      root.className = player.here ? "" : "away";
      state.className = player.answered ? "answered" : "";
      say(state, player.answered ? "✓ answered" : player.here ? "" : "not here");
      say(points, number(player.points ?? 0));
      arrange(last, [asked === id ? asking : ask]);
      return root;
    };
  }

  function takeOut(id, nickname) {
    const ask = button("Remove", "quiet", () => { asked = id; draw(); yes.focus(); });
    const yes = button("Yes, remove", "sure", () => { asked = null; remove(id); draw(); });
    const no = button("No", "", () => { asked = null; draw(); ask.focus(); });
    ask.setAttribute("aria-label", `Remove ${nickname}`);
    yes.setAttribute("aria-label", `Yes, remove ${nickname}`);
    return { ask, yes, no };
  }

  draw();
  return { root, show: (now) => { players = now; draw(); } };
}
