// One learner: every lab that they have begun, with tries, hints, predictions and quizzes.

function labCard(lab) {
  const body = element("div", "ws-body", element("p", "ws-about", lab.words));
  body.append(...lab.exercises.map((one) => element("div", "ws-exercise",
    element("b", "", one.id), pill(`mark-${one.mark}`, one.words), element("span", "ws-about", one.told),
    one.said ? element("p", "ws-said", element("span", "ws-label", "Last hint "), element("bdi", "", one.said)) : null)));
  if (lab.predictions.length) {
    body.append(table(["Prediction", "Predicted", "Measured"], lab.predictions.map((one) => [
      one.id, element("bdi", "", one.guess || "–"), element("bdi", "", one.measured || "not yet")])));
  }
  body.append(...lab.quizzes.map((words) => element("p", "", words)));
  return element("section", "ws-card ws-detail", element("h3", "", lab.label), body);
}

function learnerView(root) {
  const head = element("div", "ws-head");
  const labs = element("div", "ws-panel");
  root.append(head, labs);
  let name = "";
  return {
    update: (sections) => {
      name = sections.name ?? name;
      if (!("learner" in sections)) return;
      const { learner } = sections;
      const title = element("h2", "", element("bdi", "", name));
      if (!learner) {
        head.replaceChildren(title, element("p", "ws-about", "Nothing is known of this learner."));
        labs.replaceChildren();
        return;
      }
      const { stuck, waiting } = learner;
      head.replaceChildren(
        ...[
          title,
          stuck && element("p", "ws-alarm", stuck.words),
          stuck?.hint && element("p", "", element("span", "ws-label", "Last hint "), element("bdi", "", stuck.hint)),
          waiting.length && element("p", "ws-about", `Not begun: ${waiting.join(", ")}.`),
        ].filter(Boolean),
      );
      labs.replaceChildren(...learner.labs.map(labCard));
    },
  };
}

export default function (component) {
  return mount(component, learnerView);
}
