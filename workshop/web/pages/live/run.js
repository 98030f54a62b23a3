// One run. Its places are the same while it goes on, at its end and after a reload: the head with state and verdict, the
// star card beside ranks, time and numbers, and folds with all the rest.

const FOLDS = { learning: "Learning", time: "Time, step by step", placement: "Placement", result: "More results", files: "Files" };
const PLACES = { error: "head", verdict: "head", why: "why", machine: "side", stream: "side", metrics: "numbers", actions: "side", again: "side" };

function runView(root, data) {
  const head = element("div", "ws-head");
  const notices = element("div", "ws-notices");
  const places = { head: element("div", "ws-verdict-line"), star: element("div", "ws-star"), numbers: element("div"), side: element("div", "ws-side") };
  const queue = places.star.appendChild(element("ol", "ws-queue"));
  const fold = (name, title) => {
    const body = element("div", "ws-fold-body");
    const details = element("details", "ws-fold", element("summary", "", title), body);
    details.id = name;
    details.ontoggle = () => details.open && details.querySelectorAll(".ws-figure").forEach((figure) => figure.redraw?.());
    places[name] = body;
    return details;
  };
  const why = fold("why", "Why, and what to do next");
  root.append(head, notices, places.head, why, element("div", "ws-columns", element("div", "", places.star, places.numbers), places.side));
  const folds = Object.entries(FOLDS).map(([name, title]) => fold(name, title));
  if (data.projector) root.dataset.projector = ""; else root.append(...folds);

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
  const replay = replayOf(data, () => facts, (past) => showNews(past ?? latest));

  // The projector shows large type, and as many cards beside the star card as fit.
  function fit() {
    const zoom = Math.max(innerWidth / 768, 1), photos = root.querySelector(".ws-photos");
    root.style.zoom = zoom;
    if (photos) { // above each other, as high as the screen has room
      const room = (innerHeight - photos.getBoundingClientRect().top) / zoom;
      root.style.setProperty("--photo", `${Math.max(room / photos.children.length - 14, 100)}px`);
    }
    const cards = [...root.querySelectorAll(".ws-columns .ws-card")].filter((card) => card.dataset.card !== facts?.star);
    cards.forEach((card) => { card.style.display = ""; });
    for (const card of cards) if (card.getBoundingClientRect().bottom > innerHeight) card.style.display = "none";
    root.querySelectorAll(".ws-figure:empty").forEach((figure) => figure.redraw?.());
  }
  const sizes = data.projector && new ResizeObserver(fit);
  if (sizes) sizes.observe(root);

  function showFacts(run) {
    facts = run;
    const mine = data.me.instructor || run.owner === data.me.id;
    head.replaceChildren(
      element("div", "ws-title",
        pill(run.status, run.words),
        element("h2", "", `${run.title} · run ${run.id}`),
        clock,
        data.projector ? null : run.ended && run.started_at ? replay.button : mine && !run.ended ? cancel : null),
      element("div", "ws-now",
        element("span", "ws-about", [`by ${run.who}`, run.placement, `session ${run.session}`].join(" · ")),
        run.turn || run.activity ? element("span", "ws-activity", run.turn || run.activity) : null,
        run.status === "running" ? progressBar(run.progress) : null),
      replay.controls,
    );
    notices.replaceChildren(...run.notices.map((words) => element("p", "ws-alarm", words)));
    queue.replaceChildren(...run.queue.map((words) => element("li", "", words)));
    root.dataset.status = run.status;
    tick();
  }

  const panels = new Map();
  function showPanels(sections) {
    for (const [name, section] of Object.entries(sections)) {
      if (panels.has(name)) continue;
      const parts = ["head", "why", "star", "numbers", "side", section].filter((place) => places[place]).map((place) => {
        const part = panel(name);
        places[place].append(part.place);
        const here = ({ dataset }) => (dataset.card === facts.star ? "star" : PLACES[dataset.card] ?? section) === place;
        return (news) => part.update(news, here);
      });
      panels.set(name, (news) => parts.forEach((update) => update(news)));
    }
  }

  const latest = {}; // sections of panels, which a replay leaves for a while
  function showNews(news) {
    for (const [name, update] of panels) if (name in news) update(news[name]);
    for (const details of folds) details.hidden = !details.querySelector(".ws-card");
    why.style.visibility = why.querySelector(".ws-card") ? "" : "hidden"; // its room stays
    if (data.projector) fit();
  }

  return {
    update: (news) => {
      if ("run" in news) showFacts(news.run);
      if ("panels" in news) showPanels(news.panels);
      for (const name of panels.keys()) if (name in news) latest[name] = news[name];
      if (replay.controls.hidden) showNews(news);
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
