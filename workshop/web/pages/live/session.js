// One session: its state in words, its ranks on the machine, whose turn it is.

function sessionView(root) {
  const head = element("div", "ws-head");
  const machine = panel("machine");
  const queue = card("Queue", "ws-runs");
  const recent = card("Lately", "ws-runs");
  root.append(head, machine.place, queue.card, recent.card);

  const runLink = (run) => link(`run?run=${run.id}`, `Run ${run.id}`);
  const show = {
    session: (session) => {
      root.dataset.state = session.state;
      head.replaceChildren(
        element("div", "ws-title", pill(session.state, session.state), element("h2", "", session.words)),
        element("p", "ws-about", `${session.name} · launched with ${session.placement}`),
        element("p", "ws-about", session.limits),
      );
    },
    machine: machine.update,
    queue: ({ running, waiting, empty, recent: ended }) => {
      const rows = [];
      if (running) rows.push([pill("running", "running"), runLink(running), running.workload, running.who, running.placement,
        [progressBar(running.progress), running.activity]]);
      waiting.forEach((run, number) => rows.push([
        pill("queued", `turn ${number + 1}`), runLink(run), run.workload, run.who, run.placement, run.wait]));
      fill(queue, [rows.length
        ? table(["", "Run", "Workload", "Who", "Placement", "Starts"], rows)
        : element("p", "ws-about", empty)]);
      fill(recent, ended.length ? [table(["", "Run", "Workload", "Who", "Placement", "Verdict"], ended.map((run) => [
        pill(run.status, run.words), runLink(run), run.workload, run.who, run.placement, run.verdict]))] : []);
    },
  };
  return {
    update: (sections) => {
      for (const [name, value] of Object.entries(show)) if (name in sections) value(sections[name]);
    },
  };
}

export default function (component) {
  return mount(component, sessionView);
}
