"""The workshop in a notebook: `workshop.attach()` finds the running session or starts a private one. It runs workloads
and studies, shows results, and asks questions. Widgets are imported when they are shown. The kernel grades answers, so
that the browser has no solution early."""
