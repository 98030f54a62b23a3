// The menu's choice of light or dark holds for this browser; the head of each page tells Streamlit of it.
if (!window.workshopLook) {
  window.workshopLook = document.addEventListener("change", ({ target }) => {
    if (!target.matches(".ws-look")) return;
    localStorage.setItem("workshop-look", target.value);
    location.reload();
  }) ?? true;
  const choice = () => document.querySelectorAll(".ws-look").forEach((look) => { look.value = localStorage.getItem("workshop-look") ?? "System"; });
  new MutationObserver(choice).observe(document.body, { childList: true, subtree: true });
}
