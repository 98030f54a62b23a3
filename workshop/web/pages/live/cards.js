// Cards come as HTML, in which workshop/report/html.py has escaped all text. What is there already is changed where it
// differs and else left alone: figures, open folds and scroll positions stay as they are, and nothing flickers.

const CURVES_BY = "workshop-curves-by"; // in the browser's storage: "step" or "time"
const OWN = ".ws-frame, .ws-switch"; // this script looks after what is in these
const KEPT = new Set(["open", "data-next"]); // attributes that the reader or a script has set

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

// Whether an element can become another one. Cards keep their names; of all else the class says what it is.
function alike(there, wanted) {
  const card = wanted.dataset?.card;
  return there.nodeName === wanted.nodeName && there.dataset?.card === card && (card || there.className === wanted.className);
}

function become(there, wanted) {
  if (there.nodeType === Node.TEXT_NODE) {
    if (there.data !== wanted.data) there.data = wanted.data;
    return;
  }
  takeAttributes(there, wanted);
  if (wanted.matches(OWN)) return;
  const cards = new Set([...wanted.children].map((child) => child.dataset.card));
  for (const child of [...there.children]) if (child.dataset.card && !cards.has(child.dataset.card)) child.remove();
  let place = there.firstChild;
  for (const next of [...wanted.childNodes]) {
    const from = next.dataset?.card ? there.firstChild : place;
    let same = from;
    while (same && !alike(same, next)) same = same.nextSibling;
    if (!same) {
      there.insertBefore(next, place);
      continue;
    }
    become(same, next);
    if (next.dataset?.card) {
      if (same !== place) there.insertBefore(same, place);
    } else {
      while (place !== same) place = removed(place);
    }
    if (same === place) place = place.nextSibling;
  }
  while (place) place = removed(place);
}

// Remove a node; returns the one behind it.
function removed(node) {
  const behind = node.nextSibling;
  node.remove();
  return behind;
}

function takeAttributes(there, wanted) {
  for (const { name } of [...there.attributes]) {
    if (!wanted.hasAttribute(name) && !KEPT.has(name)) there.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (there.nodeName === "IMG" && name === "src") showPicture(there, value);
    else if (there.getAttribute(name) !== value) there.setAttribute(name, value);
  }
}

// The next picture is fetched before it takes the place of the one that is there.
function showPicture(image, url) {
  if ((image.dataset.next ?? image.getAttribute("src")) === url) return;
  image.dataset.next = url;
  const next = new Image();
  next.onload = () => { if (image.dataset.next === url) image.src = url; };
  next.src = url;
}

function showFigure(frame, figure) {
  if (frame.closest("[data-projector]")) figure.layout.height = Math.min(figure.layout.height, 220); // half the screen
  const div = frame.firstElementChild ?? frame.appendChild(element("div", "ws-figure"));
  const line = figure.data.findLast?.((trace) => trace.mode?.startsWith("lines")) ?? figure.data.at(-1);
  div.dataset.points = String(line?.y?.length ?? 0);
  div.dataset.last = String(line?.y?.at?.(-1) ?? "");
  if (!Number(frame.dataset.width)) div.style.minHeight = `${figure.layout?.height ?? 0}px`; // nothing moves when it is drawn
  div.redraw = () => draw(div, curvesBy() === "time" ? byTime(figure) : figure, Number(frame.dataset.width));
  div.redraw();
}

function showSwitch(group) {
  for (const button of group.children) button.setAttribute("aria-pressed", String(button.value === curvesBy()));
}

// Go over from steps to seconds and back, for all curves of the page.
function switchCurves({ target }) {
  const button = target.closest(".ws-switch button");
  if (!button) return;
  try { localStorage.setItem(CURVES_BY, button.value); } catch { return; } // a browser that keeps nothing draws by step
  const page = button.closest(".ws-live");
  page.querySelectorAll(".ws-switch").forEach(showSwitch);
  page.querySelectorAll(".ws-figure").forEach((div) => div.redraw?.());
}

// The place of one panel's cards, or of those cards that are `here`.
function panel(name) {
  const place = element("div", "ws-panel");
  place.dataset.panel = name;
  place.onclick = switchCurves;
  const update = ({ html, figures }, here = () => true) => {
    const template = element("template");
    template.innerHTML = html;
    const wanted = place.cloneNode();
    wanted.append(...[...template.content.children].filter(here));
    become(place, wanted);
    place.querySelectorAll("[data-figure]").forEach((frame) => showFigure(frame, figures[frame.dataset.figure]));
    place.querySelectorAll(".ws-switch").forEach(showSwitch);
  };
  return { place, update };
}
