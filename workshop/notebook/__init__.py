"""The workshop in a notebook: `workshop.attach()` finds the session that is up, `.quiz("kmeans")` asks what one has
learned. Widgets are imported when they are shown; the kernel grades, so that no answer is in the browser early."""

from workshop.notebook.attaching import Session, attach

__all__ = ["Session", "attach"]
