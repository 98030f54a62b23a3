// On a narrow screen the menu lies over the page, and Streamlit leaves it open when a page was chosen: close it.
if (!window.workshopMenu) {
  window.workshopMenu = true;
  const NARROW = 768; // pixels up to which Streamlit lays it over
  document.addEventListener("click", (event) => {
    if (window.innerWidth > NARROW || !event.target.closest?.('[data-testid="stSidebarNavLink"]')) return;
    document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click();
  });
}
