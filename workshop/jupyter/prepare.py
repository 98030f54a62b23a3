"""What JupyterLab finds when it starts: its settings, a learner's own copies of the notebooks, and the first layout."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from workshop.core import config
from workshop.core.errors import BadInput
from workshop.course import copies
from workshop.jupyter import settings, workspace

FIRST = "0-first.ipynb"  # what the first layout opens


def prepare(say: Callable[[str], None]) -> None:
    """Bring the learner's folder and JupyterLab's own up to date, and say what is new of the notebooks.

    Raises BadInput where a folder can't be written.
    """
    root = config.learners_folder()
    try:
        there = settings.folders()
        root.mkdir(parents=True, exist_ok=True)
        settings.write(there, root)
    except OSError as error:
        raise BadInput(f"JupyterLab's folders can't be made ({error.filename}: {error.strerror}).") from None
    try:
        for copied in copies.hand_out(config.notebooks_folder(), root):
            if copied.what in ("updated", "beside"):
                say(str(copied))
    except BadInput as error:
        say(f"JupyterLab starts without the labs' notebooks. {error}")
    with suppress(OSError):  # what is opened first is a convenience
        workspace.give(there.workspaces, root, FIRST)
