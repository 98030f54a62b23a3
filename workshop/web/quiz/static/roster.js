// The players of a round, for its host: who is here, who has answered, who leads; and taking somebody out.

import { button, count, element, name, number, say } from "./dom.js";

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
  let players = [], asked = null;
  find.addEventListener("input", draw);

  function draw() {
    const here = players.filter((player) => player.here).length;
    say(heading, `${count(players.length, "learner")}, ${number(here)} here`);
    find.hidden = players.length <= 12;
    const wanted = find.value.trim().toLocaleLowerCase();
    const found = players.filter(({ nickname }) => nickname.toLocaleLowerCase().includes(wanted));
    const there = new Map([...rows.children].map((made) => [made.dataset.id, made]));
    const focused = document.activeElement?.dataset?.focus;
    rows.replaceChildren(...found.slice(0, SHOWN).map((player) => {
      const mark = JSON.stringify([player, asked === player.id]);
      const known = there.get(String(player.id));
      return known?.dataset.mark === mark ? known : row(player, mark);
    }));
    if (focused) rows.querySelector(`[data-focus="${focused}"]`)?.focus();
    say(rest, found.length > SHOWN ? `and ${number(found.length - SHOWN)} more` : "");
  }

  function row(player, mark) {
    const { id, nickname, answered, here, points } = player;
    const state = element("td", answered ? "answered" : "", answered ? "✓ answered" : here ? "" : "not here");
    const made = element("tr", here ? "" : "away", element("td", "", name(nickname)), state,
      element("td", "points", number(points ?? 0)), element("td", "", takeOut(id, nickname)));
    made.dataset.id = id;
    made.dataset.mark = mark;
    return made;
  }

  function takeOut(id, nickname) {
    if (asked !== id) {
      const made = button("Remove", "quiet", () => { asked = id; draw(); rows.querySelector(`[data-focus="yes-${id}"]`)?.focus(); });
      made.setAttribute("aria-label", `Remove ${nickname}`);
      made.dataset.focus = `ask-${id}`;
      return made;
    }
    const yes = button("Yes, remove", "sure", () => { asked = null; remove(id); draw(); });
    const no = button("No", "", () => { asked = null; draw(); rows.querySelector(`[data-focus="ask-${id}"]`)?.focus(); });
    yes.setAttribute("aria-label", `Yes, remove ${nickname}`);
    yes.dataset.focus = `yes-${id}`;
    no.dataset.focus = `no-${id}`;
    return element("span", "asked", yes, no);
  }

  draw();
  return { root, show: (now) => { players = now; draw(); } };
}
