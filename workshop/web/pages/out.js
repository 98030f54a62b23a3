// Whoever is logged out while a page is open is led to the sign-in; Streamlit would tell of an error in its connection.
// It asks for its settings again whenever the line to the server is gone: then we ask whether we are still in.
if (!window.workshopOut) {
  window.workshopOut = new PerformanceObserver(async (list) => {
    if (!list.getEntries().some(({ name }) => name.endsWith("/_stcore/host-config"))) return;
    const answer = await fetch("leave", { redirect: "manual" }).catch(() => null); // null: the server is gone
    if (answer?.type === "opaqueredirect") location.assign(`join?wrong=out&next=${encodeURIComponent(`/${location.pathname.split("/").pop()}${location.search}`)}`);
  });
  window.workshopOut.observe({ type: "resource" });
}
