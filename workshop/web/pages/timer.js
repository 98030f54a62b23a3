// Timers count down between two messages of the server, from the seconds that were left when a message came.
if (!window.workshopTimer) {
  const ends = new WeakMap(); // element -> the moment at which its time is up
  window.workshopTimer = setInterval(() => {
    for (const timer of document.querySelectorAll(".ws-timer[data-seconds]")) {
      if (!ends.has(timer)) ends.set(timer, performance.now() + 1000 * Number(timer.dataset.seconds));
      const seconds = Math.max(Math.ceil((ends.get(timer) - performance.now()) / 1000), 0);
      const words = seconds ? `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} left` : "Time is up";
      if (timer.textContent !== words) timer.textContent = words;
    }
  }, 250);
}
