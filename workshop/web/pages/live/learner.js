// One learner: every lab that they have begun, with tries, hints, predictions and quizzes.

function learnerView(root) {
  const title = element("bdi");
  const labs = panel("learner");
  root.append(element("div", "ws-head", element("h2", "", title)), labs.place);
  return {
    update: (sections) => {
      if ("name" in sections) title.textContent = sections.name;
      if ("learner" in sections) labs.update(sections.learner);
    },
  };
}

export default function (component) {
  return mount(component, learnerView);
}
