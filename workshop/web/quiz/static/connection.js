// The line to the server. A lost one is taken up again by itself: at once, then a little later each time, but never more
// than two seconds apart, so that a class is back within ten seconds of a server that was started again.

import { element, say } from "./dom.js";

const LONGEST = 2000; // ms between two tries
const PATIENCE = 8000; // ms in which a line has to come up
const DONT_COME_BACK = 4001; // the code of a close that is meant to last, see client.py
const SLEPT = 5000; // ms that nobody looked: this computer slept, and its line may be dead without knowing

// Where a page says that its line is lost.
export const offline = element("p", "offline");
offline.setAttribute("role", "status");
offline.hidden = true;

function line(up) {
  offline.hidden = up;
  say(offline, up ? "" : "Connection lost, coming back…");
  document.body.dataset.line = up ? "up" : "down";
}

// `hear` gets each message, `up` is called when the line comes up, `gone` gets the reason when the server has closed it
// for good.
export function connect(path, { hear, up, gone }) {
  const url = new URL(path, document.baseURI);
  url.protocol = url.protocol.replace("http", "ws");
  let socket = null, wait = 0, timer = null, closed = false, tick = Date.now();

  function open() {
    clearTimeout(timer);
    const opened = new WebSocket(url);
    socket = opened;
    const giveUp = setTimeout(() => lost(opened), PATIENCE);
    opened.onopen = () => { clearTimeout(giveUp); wait = 0; line(true); up(); };
    opened.onmessage = ({ data }) => { if (opened === socket) hear(JSON.parse(data)); };
    opened.onclose = ({ code, reason }) => {
      clearTimeout(giveUp);
      if (code === DONT_COME_BACK && opened === socket && !closed) { close(); gone(reason); } else lost(opened);
    };
  }

  function lost(which) {
    if (closed || which !== socket) return;
    socket = null;
    which.close();
    line(false);
    // A class that lost its line at once shouldn't come back at once.
    timer = setTimeout(open, wait * (0.5 + Math.random() / 2));
    wait = Math.min(Math.max(2 * wait, 250), LONGEST);
  }

  function again() {
    if (closed) return;
    wait = 0;
    if (socket) lost(socket); else { clearTimeout(timer); open(); }
  }

  function close() {
    closed = true;
    clearInterval(watch);
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
    window.removeEventListener("online", again);
    socket?.close();
  }

  // Pages that nobody sees are left alone: their clocks are slow, and there is time when somebody looks again.
  function look() {
    if (document.hidden) return;
    const slept = Date.now() - tick > SLEPT;
    tick = Date.now();
    if (slept) again();
  }

  const watch = setInterval(look, 1000);
  document.addEventListener("visibilitychange", look);
  window.addEventListener("online", again);
  open();

  return {
    // False where there is no line: whoever sends keeps what it wants to say and says it again when the line is back.
    send: (message) => {
      if (socket?.readyState !== WebSocket.OPEN) return false;
      socket.send(JSON.stringify(message));
      return true;
    },
    // For whoever has waited too long for an answer: a line that says nothing may be dead.
    again,
    close,
  };
}
