// One figure of a page that isn't live. A click on a mark tells the page the mark's place among the picks.

export default function ({ parentElement, data, setStateValue }) {
  let div = parentElement.querySelector(":scope > .ws-figure");
  if (!div) {
    div = parentElement.appendChild(element("div", "ws-figure"));
    // A figure in a closed fold or behind another tab is drawn when it gets its width.
    new ResizeObserver(() => div.clientWidth && !div.classList.contains("js-plotly-plot") && div.redraw()).observe(div);
  }
  if (div.spec === data.figure) return;
  div.spec = data.figure;
  const figure = JSON.parse(data.figure);
  div.style.minHeight = `${figure.layout.height ?? 0}px`; // nothing moves when it is drawn
  div.redraw = async () => {
    await draw(div, figure);
    if (!data.picks || !div.on) return;
    div.removeAllListeners("plotly_click");
    div.on("plotly_click", ({ points }) => setStateValue("picked", [points[0].customdata].flat()[0] ?? null));
  };
  div.redraw();
}
