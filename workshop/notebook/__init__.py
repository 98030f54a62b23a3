"""The workshop in a notebook: `workshop.attach()` finds the session that is up or starts a private one; it runs
workloads and studies, shows what came of them, and asks what one has learned. Widgets are imported when they are shown;
the kernel grades, so that no answer is in the browser early."""
