// What all live views share: elements, the line to the server, figures. What people wrote is
// set as text here; in the HTML of cards the server has escaped it.

function element(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) made.append(child);
  }
  return made;
}

function link(href, text) {
  const made = element("a", "", text);
  made.href = href;
  return made;
}

function card(title, className = "") {
  const body = element("div", "ws-body");
  const made = element("section", `ws-card ${className}`, title ? element("h3", "", title) : null, body);
  made.hidden = true;
  return { card: made, body };
}

// Fill a card, or hide it where there is nothing to show.
function fill(target, children) {
  const shown = children.flat().filter(Boolean);
  target.card.hidden = shown.length === 0;
  target.body.replaceChildren(...shown);
}

function pill(state, words) {
  const made = element("span", `ws-pill ws-${state}`, words);
  made.setAttribute("role", "status");
  return made;
}

function progressBar(progress) {
  if (!progress || !(progress[1] > 0)) return null;
  const share = Math.min(progress[0] / progress[1], 1);
  const inner = element("div", "ws-bar-inner");
  inner.style.width = `${(100 * share).toFixed(1)}%`;
  const bar = element("div", "ws-bar", inner);
  bar.setAttribute("role", "progressbar");
  bar.setAttribute("aria-label", "Progress of the run");
  bar.setAttribute("aria-valuenow", String(Math.round(100 * share)));
  return element("div", "ws-progress", bar, element("span", "", `${progress[0]} of ${progress[1]}`));
}

function duration(seconds) {
  if (seconds < 0) seconds = 0;
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

function table(headings, rows) {
  const head = element("tr", "", headings.map((heading) => element("th", "", heading)));
  const body = rows.map((cells) => element("tr", "", cells.map((cell) => element("td", "", cell))));
  return element("div", "ws-scroll", element("table", "", element("thead", "", head), element("tbody", "", body)));
}

let plotly = null;
function loadPlotly() {
  plotly ??= new Promise((resolve, reject) => {
    if (window.Plotly) return resolve(window.Plotly);
    const script = element("script");
    script.src = "assets/plotly.min.js";
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => { plotly = null; script.remove(); reject(new Error("plotly.js did not load")); };
    document.head.append(script);
  });
  return plotly;
}

// Draw a figure into a div that stays the same from one message to the next, so that only what changed is redrawn.
async function draw(div, figure, laidOutFor = 0) {
  div.figure = figure;
  let drawn;
  try { drawn = await loadPlotly(); } catch { setTimeout(() => draw(div, div.figure, laidOutFor), 2000); return; }
  if (div.figure !== figure || !div.checkVisibility()) return; // a section that is opened draws its figures
  if (laidOutFor) div.style.minWidth = `${Math.round(narrowest(figure.layout, laidOutFor))}px`;
  const layout = laidOutFor ? shrunk(figure.layout, div.clientWidth, laidOutFor) : figure.layout;
  div.style.minHeight = `${layout.height}px`;
  await drawn.react(div, figure.data, layout, { displayModeBar: false, responsive: true });
  widths.observe(div);
}

// A card that gets a neighbour becomes narrower, and Plotly only looks at the window.
const widths = new ResizeObserver((changes) => changes.forEach(({ target, contentRect: { width } }) => {
  const before = target.lastWidth;
  target.lastWidth = width;
  if (before && width && Math.abs(before - width) > 1) window.Plotly?.Plots.resize(target).catch(() => {});
}));

// A picture with words in it, for a narrow screen: words become smaller with it, as far as one can read them. It keeps
// the width that they need then, and scrolls.
const SMALLEST = 0.65; // of the size that words are laid out in
const COLUMN = 75; // pixels for words of that size, and for the frames around them
const LETTER = 0.56; // of a font's size, a character's width

function narrowest({ annotations = [] }, laidOutFor) {
  const columns = new Set(annotations.filter((note) => note.xanchor !== "left").map((note) => note.x)).size;
  return Math.min(SMALLEST * laidOutFor, columns * COLUMN);
}

function shrunk(layout, width, laidOutFor) {
  const scale = Math.max(width / laidOutFor, SMALLEST);
  if (scale >= 1) return layout;
  const smaller = (note) => {
    // A title begins at the left of its frame, and may be as long as the picture is wide.
    const room = note.xanchor === "left" ? width * (1 - note.x / layout.xaxis.range[1]) / (LETTER * note.text.length) : Infinity;
    return { ...note, font: { ...note.font, size: Math.max(Math.min(note.font.size * scale, room), 7) } };
  };
  return { ...layout, height: Math.max(layout.height * scale, 150), annotations: (layout.annotations || []).map(smaller) };
}

// Listen to a live path. Sections come as they change; a lost line is taken up again, a little later each time.
function listen(path, onSections, onLine) {
  let socket, timer, wait = 250, closed = false;
  function open() {
    const url = new URL(path, document.baseURI);
    url.protocol = url.protocol.replace("http", "ws");
    socket = new WebSocket(url);
    socket.onopen = () => { wait = 250; onLine(true); };
    socket.onmessage = (event) => onSections(JSON.parse(event.data).sections);
    socket.onclose = () => {
      if (closed) return;
      onLine(false);
      timer = setTimeout(open, wait * (1 + Math.random()));
      wait = Math.min(2 * wait, 4000);
    };
  }
  open();
  return () => { closed = true; clearTimeout(timer); socket.close(); };
}

// Mount a view once into its place; Streamlit calls this again on every rerun of the page.
function mount(component, makeView) {
  const { parentElement, data } = component;
  const known = parentElement.workshop;
  if (known && known.path === data.path) return known.leave;
  known?.leave();
  const root = element("div", "ws ws-live");
  parentElement.querySelector(":scope > .ws")?.remove();
  parentElement.append(root);
  // Whoever started a run at the end of a long form wants to see it.
  if (root.getBoundingClientRect().top < 0) root.scrollIntoView({ block: "start" });
  const view = makeView(root, data);
  const offline = element("div", "ws-offline", "Reconnecting to the dashboard …");
  offline.hidden = true;
  root.prepend(offline);
  const problem = element("div", "ws-problem");
  problem.hidden = true;
  root.prepend(problem);
  const close = listen(
    data.path,
    (sections) => {
      if ("problem" in sections) {
        problem.hidden = !sections.problem;
        problem.textContent = sections.problem || "";
      }
      view.update(sections);
    },
    (up) => { offline.hidden = up; root.dataset.line = up ? "up" : "down"; },
  );
  const leave = () => { close(); view.leave?.(); root.remove(); delete parentElement.workshop; };
  parentElement.workshop = { path: data.path, leave };
  return leave;
}
