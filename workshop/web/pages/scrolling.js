// Parts of a page that scroll are reached by keyboard, too: each can have the focus, and arrow keys move it. A page that
// turns to another section (data-place) begins at its top.
if (!window.workshopScrolling) {
  window.workshopScrolling = true;
  const SCROLLS = '.ws-scroll, .ws-frame, pre, [class*="st-key-machine-"], [class*="st-key-wide-"]';
  const reach = () => document.querySelectorAll(SCROLLS).forEach((part) => {
    const scrolls = part.scrollWidth > part.clientWidth || (part.matches(".ws-scroll") && part.scrollHeight > part.clientHeight);
    if (scrolls && part.tabIndex < 0) part.tabIndex = 0;
    if (!scrolls) part.removeAttribute("tabindex");
  });
  let place = null;
  const turn = () => {
    const next = document.querySelector("[data-place]")?.dataset.place ?? null;
    if (place && next && next !== place) document.querySelector('[data-testid="stMain"]')?.scrollTo(0, 0);
    place = next;
  };
  new MutationObserver(() => requestAnimationFrame(() => { reach(); turn(); })).observe(document.body, { childList: true, subtree: true });
  window.addEventListener("resize", reach);
  document.addEventListener("toggle", reach, true);
  reach();
}
