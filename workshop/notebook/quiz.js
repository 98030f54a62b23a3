// A quiz below a cell. `selfStudy` of the dashboard asks the kernel here; its scripts and styles come with the widget. They
// stand in a shadow tree, so that the notebook's styles and theirs don't mix.

export default {
  async render({ model, el }) {
    const urls = {};
    const url = (name) => {
      const text = () => model.get("scripts")[name].replace(/from "\.\/(.+?)"/g, (_, other) => `from "${url(other)}"`);
      urls[name] ??= URL.createObjectURL(new Blob([text()], { type: "text/javascript" }));
      return urls[name];
    };
    const { selfStudy } = await import(url("self_study.js"));

    const waiting = new Map();
    const hear = ({ ref, answer, error }) => {
      const [resolve, reject] = waiting.get(ref) ?? []; // another view of this widget may have asked
      waiting.delete(ref);
      if (error) reject?.(new Error(error)); else resolve?.(answer);
    };
    model.on("msg:custom", hear);
    const ask = (act, values) => new Promise((...ends) => {
      const ref = String(Math.random());
      waiting.set(ref, ends);
      model.send({ ref, act, values });
    });

    el.dataset.lmSuppressShortcuts = "true"; // keys of the quiz are no commands of JupyterLab
    const style = document.createElement("style");
    style.textContent = model.get("css");
    const root = document.createElement("div");
    root.className = "ws in-cell";
    root.style.colorScheme = document.body.dataset.jpThemeLight === "false" ? "dark" : "light";
    el.attachShadow({ mode: "open" }).append(style, root);

    let at = "";
    const where = { read: () => at, write: (id) => { at = id; study.show(); } };
    const study = await selfStudy({ root, title: model.get("title"), ask, where });
    return () => { study.stop(); model.off("msg:custom", hear); };
  },
};
