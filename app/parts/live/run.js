// One run: what it is doing, what it found, how its ranks spent their time.

function runView(root, data) {
  const head = element("div", "ws-head");
  const notices = element("div");
  const error = card("What went wrong", "ws-error");
  const said = card("", "ws-verdict");
  const photos = card("Photo");
  const palette = element("div", "ws-figure ws-palette");
  const curves = element("div", "ws-grid");
  const times = card("Where each rank's time went");
  const timesFigure = element("div", "ws-figure");
  times.body.append(timesFigure);
  const machine = machineCard("Where the ranks run");
  const metrics = card("What came out", "ws-later");
  const files = card("Files", "ws-later");
  const drawn = new Map();
  root.append(head, notices, error.card, said.card, photos.card, curves, machine.card, metrics.card, files.card);
  curves.append(times.card);

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

  function showFacts(run) {
    facts = run;
    const mine = data.me.instructor || run.owner === data.me.id;
    const mayCancel = mine && !run.ended;
    const about = [`by ${run.who}`, run.placement, `session ${run.session}`].join(" · ");
    head.replaceChildren(
      element("div", "ws-title",
        pill(run.status, run.words),
        element("h2", "", `${run.title} · run ${run.id}`),
        clock,
        mayCancel ? cancel : null),
      element("p", "ws-about", about),
      ...(run.turn ? [element("p", "", run.turn)] : []),
      ...(run.status === "running" ? [progressBar(run.progress)].filter(Boolean) : []),
    );
    notices.replaceChildren(...run.notices.map((words) => element("p", "ws-alarm", words)));
    root.dataset.status = run.status;
    tick();
  }

  function showError(failure) {
    if (!failure) return fill(error, []);
    const where = failure.rank === null || failure.rank === undefined ? "" : `Rank ${failure.rank} on ${failure.host}: `;
    const trace = failure.traceback
      ? element("details", "", element("summary", "", "Traceback"), element("pre", "", failure.traceback))
      : null;
    fill(error, [element("p", "ws-message", `${where}${failure.type}: ${failure.message}`), trace]);
  }

  function showVerdict(verdict) {
    if (!verdict) return fill(said, []);
    const part = (label, words) => element("p", "", element("b", "", label), words);
    fill(said, [
      element("p", "ws-label", verdict.so_far ? "So far" : "Verdict"),
      element("h2", "", verdict.verdict),
      part("Why ", verdict.why),
      part("Next ", verdict.next),
    ]);
  }

  function showPhotos(pictures) {
    photos.card.hidden = pictures.length === 0;
    const row = photos.body.querySelector(".ws-photos") ?? element("div", "ws-photos");
    if (!row.isConnected) photos.body.replaceChildren(row, palette);
    pictures.forEach((picture, number) => {
      let frame = row.children[number];
      if (!frame) {
        frame = element("figure", "", element("img"), element("figcaption", "", element("b"), element("span")));
        row.append(frame);
      }
      const image = frame.querySelector("img");
      // The next picture is fetched before it takes the place of the one that is there: nothing flickers.
      if (image.dataset.url !== picture.url) {
        image.dataset.url = picture.url;
        const next = new Image();
        next.onload = () => { if (image.dataset.url === picture.url) image.src = picture.url; };
        next.src = picture.url;
      }
      image.alt = picture.label;
      frame.querySelector("b").textContent = picture.label;
      frame.querySelector("span").textContent = picture.note ? ` ${picture.note}` : "";
    });
    while (row.children.length > pictures.length) row.lastChild.remove();
  }

  function showCurves(list) {
    for (const { name, figure } of list) {
      if (!drawn.has(name)) {
        const made = card(name[0].toUpperCase() + name.slice(1));
        const div = element("div", "ws-figure");
        made.body.append(div);
        made.card.hidden = false;
        made.card.dataset.curve = name;
        drawn.set(name, { ...made, div });
        curves.insertBefore(made.card, drawn.size === 1 ? times.card : null);
      }
      const { div } = drawn.get(name);
      const values = figure.data.at(-1)?.y;
      div.dataset.points = String(values?.length ?? 0);
      div.dataset.last = String(values?.at?.(-1) ?? "");
      draw(div, figure);
    }
  }

  const show = {
    run: showFacts,
    error: showError,
    verdict: showVerdict,
    pictures: showPhotos,
    palette: (figure) => { palette.hidden = !figure; if (figure) draw(palette, figure); },
    curves: showCurves,
    times: (figure) => { times.card.hidden = !figure; if (figure) draw(timesFigure, figure); },
    machine: machine.update,
    metrics: (list) => fill(metrics, list.length ? [element("dl", "ws-tiles", list.map(({ label, value }) =>
      element("div", "", element("dt", "", label), element("dd", "", value))))] : []),
    files: (list) => fill(files, list.length ? [element("ul", "ws-files", list.map(({ name, size, url }) =>
      element("li", "", link(url, name), ` ${size}`)))] : []),
  };
  return {
    update: (sections) => {
      for (const [name, value] of Object.entries(show)) if (name in sections) value(sections[name]);
    },
    leave: () => clearInterval(timer),
  };
}

export default function (component) {
  return mount(component, runView);
}
