// One run: what it is doing, and its panels, in the order that the server tells.

function runView(root, data) {
  const head = element("div", "ws-head");
  const notices = element("div", "ws-notices");
  root.append(head, notices);
  if (data.prediction) root.append(element("p", "ws-prediction", `Your prediction: ${data.prediction}`));

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
  results.onclick = () => root.querySelector(".ws-error, .ws-verdict")?.scrollIntoView({ block: "start" });

  // Cards that come when a run ends stand below those that the reader has before them, until the page is opened again.
  function keepPlaces() {
    if (!facts || facts.ended) return;
    root.dataset.watched = "";
    root.querySelectorAll(".ws-panel > .ws-card, .ws-notices:not(:empty)").forEach((part) => { part.dataset.seen = ""; });
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
      ...(run.activity ? [element("p", "ws-activity", run.activity)] : []),
      ...(run.status === "running" ? [progressBar(run.progress)].filter(Boolean) : []),
      ...(run.ended && "watched" in root.dataset ? [element("div", "ws-progress", results)] : []),
    );
    notices.replaceChildren(...run.notices.map((words) => element("p", "ws-alarm", words)));
    root.dataset.status = run.status;
    tick();
  }

  const panels = new Map();
  function showPanels(names) {
    for (const name of names) {
      if (!panels.has(name)) panels.set(name, panel(name));
      root.append(panels.get(name).place);
    }
  }

  return {
    update: (sections) => {
      if ("panels" in sections) showPanels(sections.panels);
      if ("run" in sections) showFacts(sections.run);
      for (const [name, { update }] of panels) if (name in sections) update(sections[name]);
      keepPlaces();
    },
    leave: () => clearInterval(timer),
  };
}

export default function (component) {
  return mount(component, runView);
}
