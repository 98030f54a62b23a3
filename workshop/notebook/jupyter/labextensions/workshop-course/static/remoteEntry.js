// The workshop in JupyterLab: tiles of the launcher for the dashboard and each lab, and a panel that shows the dashboard.
//
// Written by hand as what JupyterLab loads, a container of module federation with `init` and `get`, so that nothing has
// to be built. All modules are JupyterLab's own, taken from the scope that it shares.

(() => {
  "use strict";

  const NAME = "workshop-course";
  const CATEGORY = "Workshop";
  const OPEN_DASHBOARD = "workshop:open-dashboard";
  const OPEN_LAB = "workshop:open-lab";
  // What the dashboard's page may do in its frame; taking JupyterLab's place in the window is not part of it.
  const ALLOWED = ["allow-scripts", "allow-same-origin", "allow-forms", "allow-popups", "allow-downloads", "allow-modals"];
  const QUIET = 500;  // milliseconds without anything to do, after which a kernel counts as idle
  const PATIENCE = 12000;  // milliseconds that the dashboard waits for kernels
  const TEAL = "#0b5c7a";

  let shared = null;

  // One of JupyterLab's modules, in the version that is in use, or the newest.
  async function module(name) {
    const versions = Object.entries(shared[name] ?? {});
    if (!versions.length) throw new Error(`JupyterLab shares no ${name}`);
    versions.sort(([a, one], [b, other]) =>
      (other.loaded ? 1 : 0) - (one.loaded ? 1 : 0) || b.localeCompare(a, undefined, { numeric: true }));
    return (await versions[0][1].get())();
  }

  // The workshop's mark, and a lab's number in its colours.
  const square = (inside) =>
    `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 32 32">` +
    `<rect x="1" y="1" width="30" height="30" rx="7" fill="${TEAL}"/>${inside}</svg>`;
  const MARK = [[7, 7, "#56b4e9"], [17, 7, "#e69f00"], [7, 17, "#ffffff"], [17, 17, "#2fc49a"]]
    .map(([x, y, fill]) => `<rect x="${x}" y="${y}" width="8" height="8" rx="1.5" fill="${fill}"/>`).join("");
  const digit = (text) =>
    `<text x="16" y="22.5" text-anchor="middle" font-family="sans-serif" font-size="18" font-weight="600" ` +
    `fill="#fff">${/^[0-9]{1,2}$/.test(text) ? text : ""}</text>`;

  // The launcher puts categories that it doesn't know last; these are what learners came for. And lines of output are
  // broken between words and numbers.
  const STYLE = `.jp-Launcher-content { display: flex; flex-direction: column; }
    .jp-Launcher-section { flex: none; }
    .jp-Launcher-section:has(.jp-LauncherCard[data-category="${CATEGORY}"]) { order: -1; }
    .jp-LauncherCard[data-category="${CATEGORY}"] { min-height: 112px; }
    .jp-NotebookPanel .jp-RenderedText pre { word-break: normal; overflow-wrap: anywhere; }`;

  async function plugins() {
    const [application, apputils, coreutils, launcher, services, ui, widgets] = await Promise.all([
      "@jupyterlab/application", "@jupyterlab/apputils", "@jupyterlab/coreutils", "@jupyterlab/launcher",
      "@jupyterlab/services", "@jupyterlab/ui-components", "@lumino/widgets",
    ].map(module));

    // What our part of the server answers.
    async function ask(what, method) {
      const settings = services.ServerConnection.makeSettings();
      const url = coreutils.URLExt.join(settings.baseUrl, "workshop", what);
      const response = await services.ServerConnection.makeRequest(url, { method }, settings);
      if (!response.ok) throw new Error(`${what}: ${response.status}`);
      return response.json();
    }

    // The dashboard's address under the name by which this page knows the machine: a browser keeps the cookies of
    // localhost and of 127.0.0.1 apart.
    function reachable(address) {
      const url = new URL(address);
      const here = ["localhost", "127.0.0.1"];
      if (here.includes(url.hostname) && here.includes(window.location.hostname)) {
        url.hostname = window.location.hostname;
      }
      return url;
    }

    async function way(address) {
      const url = reachable(address);
      // In a frame of another host's page, browsers would forget who came in by it.
      const { ticket } = url.hostname === window.location.hostname ? await ask("enter", "POST") : { ticket: null };
      if (ticket) url.searchParams.set("ticket", ticket);
      else url.pathname = url.pathname.replace(/\/?$/, "/session");
      return url.href;
    }

    // Until a kernel has nothing to do.
    function idle(kernel) {
      return new Promise((resolve) => {
        let timer = null;
        const look = () => {
          clearTimeout(timer);
          if (kernel.status === "idle") timer = setTimeout(done, QUIET);
        };
        const done = () => {
          kernel.statusChanged.disconnect(look);
          resolve();
        };
        kernel.statusChanged.connect(look);
        look();
      });
    }

    // Until the notebooks that are open have kernels, and these have done what they were asked first: the dashboard has
    // as much to load as JupyterLab itself, and would keep them waiting. It doesn't wait long, whatever becomes of them.
    async function kernelsFirst(app) {
      const ready = async ({ sessionContext }) => {
        await sessionContext.ready;
        const kernel = sessionContext.session?.kernel;
        if (kernel) await idle(kernel);
      };
      const notebooks = async () => {
        await app.restored;
        await Promise.all([...app.shell.widgets("main")].filter((one) => one.sessionContext).map(ready));
      };
      const enough = new Promise((resolve) => setTimeout(resolve, PATIENCE));
      await Promise.race([notebooks().catch((error) => console.error(error)), enough]);
    }

    class Dashboard extends widgets.StackedPanel {
      constructor(address, turn) {
        super();
        this.id = "workshop-dashboard";
        this.title.label = "Dashboard";
        this.title.icon = icon("dashboard", MARK);
        this.title.closable = true;
        this.fill(address, turn).catch((error) => {
          console.error(error);
          this.tell("The dashboard could not be opened. Close this tab and open it again from the launcher.");
        });
      }

      async fill(address, turn) {
        if (!address) {
          this.tell("There is no dashboard here; `make up` starts one together with JupyterLab.");
          return;
        }
        await turn;
        const frame = new ui.IFrame({ sandbox: ALLOWED, referrerPolicy: "no-referrer" });
        frame.url = await way(address);
        this.addWidget(frame);
      }

      tell(sentence) {
        const told = new widgets.Widget({ node: document.createElement("p") });
        told.node.textContent = sentence;
        told.node.style.padding = "1em";
        this.addWidget(told);
      }
    }

    const icons = new Map();
    function icon(name, inside) {
      if (!icons.has(name)) icons.set(name, new ui.LabIcon({ name: `workshop:${name}`, svgstr: square(inside) }));
      return icons.get(name);
    }

    function activate(app, restorer, tiles, palette) {
      const style = document.createElement("style");
      style.textContent = STYLE;
      document.head.append(style);
      const tracker = new apputils.WidgetTracker({ namespace: "workshop-dashboard" });
      const course = ask("course", "GET").catch((error) => {
        console.error(error);
        return { dashboard: null, labs: [] };
      });

      app.commands.addCommand(OPEN_DASHBOARD, {
        label: "Dashboard",
        caption: "The session, its runs and studies, quizzes",
        icon: icon("dashboard", MARK),
        execute: async () => {
          let panel = tracker.currentWidget;
          if (!panel) {
            const { dashboard } = await course;
            const content = () => new Dashboard(dashboard, kernelsFirst(app));
            panel = tracker.currentWidget ?? new apputils.MainAreaWidget({ content: content() });
          }
          if (!panel.isAttached) {
            panel.id = "workshop-dashboard-panel";
            panel.title.label = "Dashboard";
            panel.toolbar.hide();
            if (!tracker.has(panel)) await tracker.add(panel);
            app.shell.add(panel, "main", { mode: app.shell.currentWidget ? "split-right" : "tab-after" });
          }
          app.shell.activateById(panel.id);
          return panel;
        },
      });
      app.commands.addCommand(OPEN_LAB, {
        label: (args) => String(args.title ?? "A lab of the course"),
        caption: (args) => String(args.path ?? ""),
        icon: (args) => (args.number ? icon(`lab-${args.number}`, digit(String(args.number))) : undefined),
        execute: (args) => app.commands.execute("docmanager:open", { path: String(args.path), factory: "Notebook" }),
      });
      if (restorer) restorer.restore(tracker, { command: OPEN_DASHBOARD, name: () => "dashboard" });
      palette?.addItem({ command: OPEN_DASHBOARD, category: CATEGORY });
      tiles?.add({ command: OPEN_DASHBOARD, category: CATEGORY, rank: 0 });

      course.then(({ labs }) => labs.forEach((lab, at) => {
        const args = { path: lab.path, title: lab.title, number: lab.number };
        palette?.addItem({ command: OPEN_LAB, category: CATEGORY, args });
        tiles?.add({ command: OPEN_LAB, category: CATEGORY, rank: at + 1, args });
      }));
    }

    return [{
      id: `${NAME}:plugin`,
      description: "Tiles for the workshop's dashboard and labs.",
      autoStart: true,
      optional: [application.ILayoutRestorer, launcher.ILauncher, apputils.ICommandPalette],
      activate,
    }];
  }

  const modules = { "./extension": async () => ({ __esModule: true, default: await plugins() }) };

  window._JUPYTERLAB = window._JUPYTERLAB ?? {};
  window._JUPYTERLAB[NAME] = {
    init: (scope) => { shared = scope; },
    get: async (name) => {
      if (!(name in modules)) throw new Error(`${NAME} has no module ${name}`);
      const made = await modules[name]();
      return () => made;
    },
  };
})();
