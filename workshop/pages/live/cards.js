// Cards of a few kinds of parts, see workshop/report/cards.py. A part that is there already is updated, not made anew:
// figures and folds stay as they are, and nothing flickers.

const CURVES_BY = "workshop-curves-by"; // in the browser's storage: "step" or "time"

function curvesBy() {
  try { return localStorage.getItem(CURVES_BY) === "time" ? "time" : "step"; } catch { return "step"; }
}

// The same figure over seconds, where its traces know them.
function byTime(figure) {
  if (!figure.data.length || !figure.data.every((trace) => trace.meta?.seconds)) return figure;
  const { xaxis } = figure.layout;
  const data = figure.data.map((trace) => ({ ...trace, x: trace.meta.seconds }));
  const title = { ...xaxis.title, text: "seconds since its first event" };
  return { data, layout: { ...figure.layout, xaxis: { ...xaxis, title } } };
}

const PARTS = {
  words: {
    make: () => element("div", "ws-words"),
    update: (div, { lines }) => div.replaceChildren(...lines.map(({ text, label, tone }) => {
      const made = element(tone === "heading" ? "h2" : "p", tone ? `ws-${tone}` : "");
      if (label) made.append(element("b", "", `${label} `));
      made.append(text);
      return made;
    })),
  },
  figure: {
    make: () => element("div", "ws-frame", element("div", "ws-figure")),
    update: ({ firstChild: div }, { figure, width }, title) => {
      const line = figure.data.findLast?.((trace) => trace.mode?.startsWith("lines")) ?? figure.data.at(-1);
      div.dataset.points = String(line?.y?.length ?? 0);
      div.dataset.last = String(line?.y?.at?.(-1) ?? "");
      div.setAttribute("role", "img");
      div.setAttribute("aria-label", title);
      div.redraw = () => draw(div, curvesBy() === "time" ? byTime(figure) : figure, width);
      div.redraw();
    },
  },
  pictures: {
    make: () => element("div"),
    update: (row, { pictures, small, wide }) => {
      row.className = small ? "ws-small" : wide ? "ws-photos ws-wide" : "ws-photos";
      pictures.forEach((picture, number) => showPicture(row, picture, number));
      while (row.children.length > pictures.length) row.lastChild.remove();
    },
  },
  tiles: {
    make: () => element("dl", "ws-tiles"),
    update: (list, { tiles }) => list.replaceChildren(...tiles.map(({ label, value }) =>
      element("div", "", element("dt", "", label), element("dd", "", value)))),
  },
  links: {
    make: () => element("ul", "ws-files"),
    update: (list, { links }) => list.replaceChildren(...links.map(({ url, text, note, button }) => {
      const made = link(url, text);
      if (button) made.className = "ws-go";
      return element("li", "", made, note ? ` ${note}` : null);
    })),
  },
  fold: {
    make: () => element("details", "", element("summary"), element("pre")),
    update: (details, { title, text }) => {
      details.firstChild.textContent = title;
      details.lastChild.textContent = text;
    },
  },
  code: {
    make: () => element("pre", "ws-code"),
    update: (pre, { text }) => { pre.textContent = text; },
  },
  table: {
    make: () => element("div"),
    update: (div, { headings, rows }) => div.replaceChildren(table(headings, rows.map((cells) => cells.map(cell)))),
  },
};

function cell(value) {
  if (typeof value === "string") return value;
  if (value.links) return element("span", "", value.links.flatMap(({ url, text }) => [link(url, text), " "]));
  const chip = element("span", "ws-chip");
  chip.style.background = value.colour;
  return element("span", "ws-rank", chip, value.text);
}

function showPicture(row, { url, label, note }, number) {
  let frame = row.children[number];
  if (!frame) {
    frame = element("figure", "", element("img"), element("figcaption", "", element("b"), element("span")));
    row.append(frame);
  }
  const image = frame.querySelector("img");
  // The next picture is fetched before it takes the place of the one that is there: nothing flickers.
  if (image.dataset.url !== url) {
    image.dataset.url = url;
    const next = new Image();
    next.onload = () => { if (image.dataset.url === url) image.src = url; };
    next.src = url;
  }
  image.alt = label;
  frame.querySelector("figcaption").setAttribute("aria-hidden", note ? "false" : "true"); // the picture says it already
  frame.querySelector("b").textContent = label;
  frame.querySelector("span").textContent = note ? ` ${note}` : "";
}

// A button that goes over from steps to seconds and back, for all curves of the page.
function curvesSwitch() {
  const group = element("div", "ws-switch");
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", "Draw curves by");
  const buttons = ["step", "time"].map((by) => {
    const button = element("button", "", `by ${by}`);
    button.type = "button";
    button.onclick = () => {
      try { localStorage.setItem(CURVES_BY, by); } catch { return; } // a browser that keeps nothing draws by step
      show();
      group.closest(".ws").querySelectorAll(".ws-figure").forEach((div) => div.redraw?.());
    };
    return button;
  });
  const show = () => buttons.forEach((button, number) =>
    button.setAttribute("aria-pressed", String(curvesBy() === ["step", "time"][number])));
  show();
  group.append(...buttons);
  return group;
}

// The place of one panel's cards; they come and go, and keep their elements while they stay.
function panel(name) {
  const place = element("div", "ws-panel");
  place.dataset.panel = name;
  const there = new Map();
  const update = (cards) => {
    for (const [card, { made }] of there) {
      if (!cards.some(({ name: wanted }) => wanted === card)) { made.remove(); there.delete(card); }
    }
    cards.forEach((card, number) => {
      if (!there.has(card.name)) there.set(card.name, makeCard(card));
      const { made, body, heading } = there.get(card.name);
      if (place.children[number] !== made) place.insertBefore(made, place.children[number] ?? null);
      made.className = ["ws-card", card.tone && `ws-${card.tone}`, card.half && "ws-half", card.later && "ws-later"]
        .filter(Boolean).join(" ");
      const offered = heading?.querySelector(".ws-switch"); // on the first curve, whichever that is by now
      if (card.switch && !offered) heading?.append(curvesSwitch());
      else if (!card.switch) offered?.remove();
      fillParts(body, card);
    });
  };
  return { place, update };
}

function makeCard({ name, title }) {
  const body = element("div", "ws-body");
  const heading = title ? element("div", "ws-heading", element("h3", "", title)) : null;
  const made = element("section", "", heading, body);
  made.dataset.card = name;
  return { made, body, heading };
}

function fillParts(body, { parts, title }) {
  parts.forEach((part, number) => {
    let there = body.children[number];
    if (there?.dataset.kind !== part.kind) {
      const made = PARTS[part.kind].make();
      made.dataset.kind = part.kind;
      if (there) there.replaceWith(made); else body.append(made);
      there = made;
    }
    PARTS[part.kind].update(there, part, title);
  });
  while (body.children.length > parts.length) body.lastChild.remove();
}
