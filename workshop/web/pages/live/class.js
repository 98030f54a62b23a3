// The class: who is stuck, and everybody's marks in every lab. A mark has a sign as well as a colour.

const SIGNS = { right: "✓", wrong: "×", stuck: "!", none: "" };

function person(name) {
  return element("bdi", "", link(`progress?learner=${encodeURIComponent(name)}`, name));
}

function marks(cell) {
  if (!cell) return element("span", "ws-none", "–");
  const squares = cell.marks.map(({ mark, words }) => {
    const made = element("span", `ws-mark ws-mark-${mark}`, SIGNS[mark]);
    made.title = words;
    made.setAttribute("role", "img");
    made.setAttribute("aria-label", words);
    return made;
  });
  const quizzes = cell.quizzes.map(({ share, words }) => {
    const made = element("span", "ws-score", share);
    made.title = words;
    return made;
  });
  const short = squares.length ? element("span", "ws-short", `${cell.solved}/${cell.of}`) : null;
  const made = element("span", `ws-marks${cell.finished ? " ws-finished" : ""}`, squares, short, quizzes);
  made.title = `${cell.minutes} min in this lab`;
  return made;
}

function headings(labs) {
  return labs.map((lab) => {
    const name = element("span", "ws-lab", lab.number === null ? lab.title : `${lab.number} ${lab.name}`);
    const told = lab.number === null ? "not in the course now" : `${lab.done} done, ${lab.begun - lab.done} at it`;
    const made = element("span", "", name, element("small", "", told));
    made.title = lab.title;
    return made;
  });
}

function classView(root) {
  const notes = card("", "ws-notes");
  const stuck = card("Stuck", "ws-stuck");
  const grid = card("", "ws-class");
  const roster = card("Roster", "ws-roster");
  const others = card("Quizzes only: no notebook was opened under these names", "ws-class ws-others");
  const legend = element("p", "ws-about ws-legend", ...["right", "wrong", "stuck", "none"].flatMap((mark) => [
    element("span", `ws-mark ws-mark-${mark}`, SIGNS[mark]),
    { right: "right", wrong: "not right yet", stuck: "wrong three times or more", none: "not tried" }[mark]]),
    element("span", "ws-score", "86 %"), "right in a quiz", element("span", "ws-marks ws-finished", "all exercises of the lab are right"));
  root.append(notes.card, stuck.card, grid.card, others.card, roster.card);
  const known = { labs: [], learners: [], others: [] };

  const rows = (learners) => learners.map((one) => {
    const name = element("span", one.stuck ? "ws-who ws-needs" : "ws-who", person(one.name));
    name.title = one.last;
    return [name, ...one.labs.map(marks)];
  });
  const draw = () => {
    const heads = ["Learner", ...headings(known.labs)];
    fill(grid, known.learners.length
      ? [table(heads, rows(known.learners)), legend]
      : [element("p", "ws-about", "Nobody has opened a lab's notebook yet. Learners appear here as they do.")]);
    fill(others, known.others.length ? [table(["Nickname", ...known.labs.map((lab) => `${lab.number ?? ""} ${lab.name}`)],
      rows(known.others))] : []);
    root.dataset.learners = String(known.learners.length);
    grid.card.classList.toggle("ws-dense", known.learners.length > 16);
  };
  return {
    update: (sections) => {
      let changed = false;
      for (const name of Object.keys(known)) {
        if (name in sections) { known[name] = sections[name]; changed = true; }
      }
      if ("notes" in sections) fill(notes, sections.notes.map((text) => element("p", "ws-note", text)));
      if ("stuck" in sections) {
        const all = sections.stuck;
        stuck.card.querySelector("h3").textContent = `Stuck: ${all.length}`;
        fill(stuck, all.length ? [element("div", "ws-people", all.map(({ name, words, hint }) => element("article", "",
          element("p", "", element("b", "", person(name)), " ", words), hint ? hinted(hint) : null)))] : []);
      }
      if (changed) draw();
      if ("roster" in sections) showRoster(roster, sections.roster);
    },
  };
}

function showRoster(target, entries) {
  target.card.querySelector("h3").textContent = `Roster: ${entries.filter((entry) => entry.present).length} of ${entries.length} here`;
  const rows = entries.map(({ name, present, here, joined, action, help }) => [
    element("bdi", "ws-who", name), present ? pill("running", here) : here, help ? pill("mark-stuck", help) : "", action, joined]);
  fill(target, rows.length ? [table(["Learner", "Here", "Help", "Last action", "Joined"], rows)] : []);
}

function hinted(hint) {
  const made = element("p", "ws-hint", element("span", "ws-label", "Last hint "), element("bdi", "", hint));
  made.title = hint;
  return made;
}

export default function (component) {
  return mount(component, classView);
}
