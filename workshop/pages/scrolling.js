// Parts of a page that scroll are reached by keyboard, too: each can have the focus, and arrow keys move it.
if (!window.workshopScrolling) {
  window.workshopScrolling = true;
  const SCROLLS = '.ws-scroll, .ws-frame, pre, [class*="st-key-machine-"], [class*="st-key-wide-"]';
  const reach = () => document.querySelectorAll(SCROLLS).forEach((part) => {
    const scrolls = part.scrollWidth > part.clientWidth || (part.matches(".ws-scroll") && part.scrollHeight > part.clientHeight);
    if (scrolls && part.tabIndex < 0) part.tabIndex = 0;
    if (!scrolls) part.removeAttribute("tabindex");
  });
  new MutationObserver(() => requestAnimationFrame(reach)).observe(document.body, { childList: true, subtree: true });
  window.addEventListener("resize", reach);
  document.addEventListener("toggle", reach, true);
  reach();
}
