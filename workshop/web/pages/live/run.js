// One run: what it is doing, a list of contents, and its panels in sections. The result is always open; other sections
// are opened and closed by the reader, and one of them is open at first.

const SECTIONS = { result: "Verdict and result", learning: "Learning", time: "Time", placement: "Placement", files: "Files" };

function runView(root, data) {
  const head = element("div", "ws-head");
  const notices = element("div", "ws-notices");
  root.append(head, notices);

  let facts = null;
  const clock = element("span", "ws-clock");
  const tick = () => {
    if (!facts?.started_at) { clock.textContent = ""; return; }
    const end = facts.ended ? facts.finished_at : Date.now() / 1000;
    clock.textContent = duration(end - facts.started_at);
  };
  const timer = setInterval(tick, 200);

  const cancel = element("button", "ws-button", "Cancel");
  cancel.onclick = async () => {
    cancel.disabled = true;
    const answer = await fetch(data.cancel, { method: "POST" }).catch(() => null);
    if (!answer?.ok) {
      const why = await answer?.json().catch(() => null);
      notices.replaceChildren(element("p", "ws-alarm", why?.error ?? "The dashboard did not answer; try again."));
      cancel.disabled = false;
    }
  };

  const results = element("button", "ws-results", "Go to the verdict and the results");
  results.onclick = () => goTo("result");

  // The list of contents. What the reader went to last is in the address, and in the link that is copied.
  const contents = element("nav", "ws-contents");
  contents.setAttribute("aria-label", "Contents of this page");
  const copy = element("button", "", "Copy link");
  copy.onclick = async () => {
    const url = new URL(`/run?run=${data.run}${sections[location.hash.slice(1)] ? location.hash : ""}`, location.href).href;
    try { await navigator.clipboard.writeText(url); } catch { prompt("The link to this run:", url); return; }
    copy.textContent = "Link copied";
    setTimeout(() => { copy.textContent = "Copy link"; }, 2000);
  };
  const sections = {};
  for (const [name, title] of Object.entries(SECTIONS)) {
    const entry = link(`#${name}`, title);
    entry.onclick = (event) => { event.preventDefault(); goTo(name); };
    contents.append(entry);
    if (name === "result" || data.projector) { sections[name] = { entry, body: root }; continue; }
    const body = element("div", "ws-section-body");
    const fold = element("details", "ws-section", element("summary", "", element("h2", "", title)), body);
    fold.id = name;
    fold.ontoggle = () => fold.open && fold.querySelectorAll(".ws-figure").forEach((figure) => figure.redraw?.());
    sections[name] = { entry, body, fold };
  }
  const replay = replayOf(data, () => facts, (past) => showNews(past ?? latest));
  contents.append(replay.button, copy, replay.controls);
  if (!data.projector) root.append(contents);

  function goTo(name) {
    history.replaceState(history.state, "", `#${name}`);
    if (sections[name].fold) sections[name].fold.open = true;
    (sections[name].fold ?? root.querySelector(".ws-error, .ws-verdict, .ws-panel > .ws-card"))?.scrollIntoView({ block: "start" });
  }

  // The projector shows as many cards as fit, pictures first, then in their order.
  function fit() {
    root.dataset.projector = "";
    const top = (card) => card.getBoundingClientRect().top;
    const cards = [...root.querySelectorAll(".ws-panel > .ws-card")];
    for (const width of [768, 1440]) {  // smaller type where no card fits in the large one
      root.style.zoom = Math.max(innerWidth / width, 1);
      cards.forEach((card) => { card.style.display = ""; });
      cards.sort((one, other) => top(one) - top(other));
      for (const card of cards) if (card.getBoundingClientRect().bottom > innerHeight) card.style.display = "none";
      if (cards.some((card) => card.style.display === "")) break;
    }
    root.querySelectorAll(".ws-figure:empty").forEach((figure) => figure.redraw?.());
  }

  const sizes = data.projector && new ResizeObserver(fit);
  if (sizes) sizes.observe(root);

  // Sections without cards are hidden, but for one that is open and waits for its first figures.
  function showSections() {
    if (data.projector) return fit();
    for (const { entry, body, fold } of Object.values(sections)) {
      const filled = Boolean(body.querySelector(fold ? ".ws-card" : ":scope > .ws-panel > .ws-card"));
      entry.style.visibility = filled ? "" : "hidden"; // its room stays until the page is opened again
      entry.hidden = !filled && facts?.ended && !("watched" in root.dataset);
      if (fold) fold.hidden = !filled && (facts?.ended || !fold.open);
    }
  }

  // Cards that come when a run ends stand below those that the reader has before them, until the page is opened again.
  function keepPlaces() {
    if (!facts || facts.ended) return;
    root.dataset.watched = "";
    root.querySelectorAll(".ws-panel > .ws-card, .ws-notices:not(:empty), .ws-section:not([hidden])").forEach((part) => { part.dataset.seen = ""; });
  }

  function showFacts(run) {
    facts = run;
    const mine = data.me.instructor || run.owner === data.me.id;
    const mayCancel = mine && (!run.ended || cancel.isConnected);
    cancel.style.visibility = run.ended ? "hidden" : ""; // its room stays, so that nothing below it moves
    const about = [`by ${run.who}`, run.placement, `session ${run.session}`].join(" · ");
    head.replaceChildren(
      element("div", "ws-title",
        pill(run.status, run.words),
        element("h2", "", `${run.title} · run ${run.id}`),
        clock,
        mayCancel ? cancel : null),
      element("p", "ws-about", about),
      ...(run.turn ? [element("p", "", run.turn)] : []),
      ...(run.activity || "watched" in root.dataset ? [element("p", "ws-activity", run.activity || "\u00a0")] : []), // keeps its place
      ...(run.status === "running" ? [progressBar(run.progress)].filter(Boolean) : []),
      ...(run.ended && "watched" in root.dataset ? [element("div", "ws-progress", results)] : []),
    );
    replay.button.style.visibility = run.ended && run.started_at ? "" : "hidden"; // its room stays
    notices.replaceChildren(...run.notices.map((words) => element("p", "ws-alarm", words)));
    root.dataset.status = run.status;
    tick();
  }

  const panels = new Map();
  function showPanels(sectionsOfPanels) {
    for (const [name, section] of Object.entries(sectionsOfPanels)) {
      if (data.projector && name !== "stream" && ![facts.opens, "result"].includes(section)) continue;
      if (!panels.has(name)) panels.set(name, panel(name));
      sections[section].body.append(panels.get(name).place);
    }
    root.append(...Object.values(sections).map(({ fold }) => fold).filter(Boolean));
  }

  const latest = {}; // sections of panels, which a replay leaves for a while
  function showNews(news) {
    for (const [name, { update }] of panels) if (name in news) update(news[name]);
    showSections();
  }

  let first = true;
  return {
    update: (news) => {
      if (first && "run" in news && "panels" in news) {
        const linked = location.hash.slice(1);
        for (const name of [news.run.opens, linked]) if (sections[name]?.fold) sections[name].fold.open = true;
      }
      if ("run" in news) showFacts(news.run);
      if ("panels" in news) showPanels(news.panels);
      for (const name of panels.keys()) if (name in news) latest[name] = news[name];
      if (replay.controls.hidden) showNews(news);
      if (first && facts && sections[location.hash.slice(1)]) goTo(location.hash.slice(1));
      first = first && !facts;
      if (!data.projector) keepPlaces();
    },
    leave: () => { clearInterval(timer); replay.pause(); if (sizes) sizes.disconnect(); },
  };
}

// The player of an ended run. `show` gets the sections of a moment, or null at the end.
function replayOf(data, facts, show) {
  const play = element("button", "", "Play"), speed = element("select"), slider = element("input"), words = element("span");
  speed.append(...[0.5, 1, 2, 4, 16].map((times) => new Option(`${times}×`, times)));
  Object.assign(speed, { value: "1", ariaLabel: "Speed" });
  Object.assign(slider, { type: "range", max: data.moments, value: 0, ariaLabel: "Time since the start of the run" });
  const controls = element("div", "ws-player", play, speed, slider, words);
  Object.assign(controls, { role: "group", ariaLabel: "Replay", hidden: true });
  const button = Object.assign(element("button", "", "Replay"), { ariaExpanded: "false" });
  let timer = null, seconds = 0, wanted = null, busy = false;

  const total = () => facts().finished_at - facts().started_at;
  const pause = () => { timer = clearInterval(timer) ?? null; play.textContent = "Play"; };
  function goTo(time) {
    seconds = Math.min(time, total());
    slider.value = Math.floor(seconds / total() * data.moments + 1e-6) || 0;
    slider.ariaValueText = words.textContent = `${duration(seconds)} of ${duration(total())}`;
    if (seconds >= total()) pause();
    wanted = Number(slider.value);
    if (!busy) showWanted();
  }
  // One moment at a time, at most four a second; those that passed meanwhile are left out.
  async function showWanted() {
    busy = true;
    while (wanted !== null && !controls.hidden) {
      const moment = wanted; wanted = null;
      try {
        const past = moment < data.moments ? await (await fetch(`${data.path}/moment/${moment}`)).json() : null;
        if (!controls.hidden) show(past);
      } catch { pause(); words.textContent = "The dashboard did not answer; try again."; }
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    busy = false;
  }
  play.onclick = () => {
    if (timer) return pause();
    let before = performance.now();
    if (seconds >= total()) seconds = 0;
    timer = setInterval(() => {
      const now = performance.now();
      goTo(seconds + (now - before) / 1000 * speed.value);
      before = now;
    }, 100);
    play.textContent = "Pause";
  };
  slider.oninput = () => goTo(slider.value / data.moments * total());
  button.onclick = () => {
    controls.hidden = !controls.hidden;
    button.ariaExpanded = String(!controls.hidden);
    pause();
    if (controls.hidden) show(null); else goTo(0);
  };
  return { button, controls, pause };
}

export default function (component) {
  return mount(component, runView);
}
