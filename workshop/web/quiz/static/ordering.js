// A list that one puts in order: by dragging, by the arrows beside each item, or by the arrow keys on its handle.

import { button, element } from "./dom.js";

export function ordering(items, changed) {
  const told = element("span", "unseen");
  told.setAttribute("aria-live", "polite");
  const list = element("ol", "items");
  const rows = new Map(items.map((item) => [item.key, row(item)]));
  list.append(...rows.values());
  label();

  function row({ key, node, words }) {
    const handle = button("⠿", "handle", () => {});
    handle.setAttribute("aria-label", `Move ${words}`);
    handle.setAttribute("aria-keyshortcuts", "ArrowUp ArrowDown");
    const up = button("↑", "move up", () => step(-1, up));
    const down = button("↓", "move down", () => step(1, down));
    up.setAttribute("aria-label", `Up: ${words}`);
    down.setAttribute("aria-label", `Down: ${words}`);
    const made = element("li", "item", handle, node, element("span", "moves", up, down));
    made.dataset.key = key;
    const step = (by, focused) => { if (move(made, place(made) + by)) tell(made, words); focused.focus(); };
    handle.addEventListener("keydown", (event) => {
      const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      step(by, handle);
    });
    handle.addEventListener("pointerdown", (event) => drag(event, made, handle, () => tell(made, words)));
    return made;
  }

  function place(row) {
    return [...list.children].indexOf(row);
  }

  // Puts a row at another place, by moving the others past it: a row that is taken out of the page, if only for a
  // moment, loses the focus and the pointer. True where that changed anything.
  function move(row, to) {
    const from = place(row);
    if (to < 0 || to >= list.children.length || to === from) return false;
    for (let at = from; at < to; at += 1) row.before(row.nextElementSibling);
    for (let at = from; at > to; at -= 1) row.after(row.previousElementSibling);
    label();
    return true;
  }

  function tell(row, words) {
    told.textContent = `${words}: now ${place(row) + 1} of ${list.children.length}`;
    changed();
  }

  function label() {
    [...list.children].forEach((row, at) => {
      row.querySelector(".up").setAttribute("aria-disabled", String(at === 0));
      row.querySelector(".down").setAttribute("aria-disabled", String(at === list.children.length - 1));
    });
  }

  // Follows the pointer: the row is moved as soon as the pointer is over another one's half.
  function drag(event, row, handle, done) {
    if (event.button !== 0 || handle.matches(":disabled")) return;
    event.preventDefault();
    handle.focus();
    handle.setPointerCapture(event.pointerId);
    row.classList.add("dragged");
    let moved = false;
    const follow = ({ clientY }) => {
      const others = [...list.children].filter((other) => other !== row);
      const before = others.filter((other) => {
        const { top, height } = other.getBoundingClientRect();
        return clientY > top + height / 2;
      }).length;
      moved = move(row, before) || moved;
      if (moved) row.scrollIntoView({ block: "nearest" });
    };
    const end = () => {
      handle.removeEventListener("pointermove", follow);
      handle.removeEventListener("pointerup", end);
      handle.removeEventListener("pointercancel", end);
      row.classList.remove("dragged");
      if (moved) done();
    };
    handle.addEventListener("pointermove", follow);
    handle.addEventListener("pointerup", end);
    handle.addEventListener("pointercancel", end);
  }

  return {
    root: element("div", "ordering", list, told),
    read: () => [...list.children].map((row) => row.dataset.key),
    write: (keys) => { list.append(...keys.map((key) => rows.get(key)).filter(Boolean)); label(); },
  };
}
