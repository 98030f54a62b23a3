// Type that becomes as large as there is room for, so that the last row can read it, and so small that all of it fits: a
// long question with twelve options is still shown in one piece.

const LEAST = 0.35; // of the usual size
const MOST = 1.5;
const STEPS = 7; // of halving the interval: to within half a percent

// `box` has a height of its own, and type in em of its font size.
export function fit(box) {
  const fits = (scale) => {
    box.style.fontSize = `${scale}em`;
    return box.scrollHeight <= box.clientHeight + 1 && box.scrollWidth <= box.clientWidth + 1;
  };
  if (!box.clientHeight || fits(MOST)) return;
  let [small, large] = [LEAST, MOST];
  for (let step = 0; step < STEPS; step += 1) {
    const middle = (small + large) / 2;
    if (fits(middle)) small = middle; else large = middle;
  }
  fits(small);
}

// Fit it now, and again whenever its size changes or a picture or a font has come.
export function keepFit(box) {
  const again = () => fit(box);
  new ResizeObserver(again).observe(box);
  box.addEventListener("load", again, true);
  document.fonts?.ready.then(again);
  return again;
}
