"""Files that JupyterLab needs when it starts: its settings, a learner's own copies of the notebooks, and a layout.

The layout shows lab 0 beside the dashboard. It is written once; from then on it is the learner's."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from workshop.core import config
from workshop.core.errors import BadInput
from workshop.course import copies
from workshop.notebook.jupyter import settings

FIRST = "0-first.ipynb"  # what the first layout opens


def prepare(say: Callable[[str], None]) -> None:
    """Bring the learner's folder and JupyterLab's own up to date, and say what is new of the notebooks.

    Raises BadInput where a folder can't be written.
    """
    root = config.learners_folder()
    try:
        made = settings.folders()
        root.mkdir(parents=True, exist_ok=True)
        settings.write(made, root)
    except OSError as error:
        raise BadInput(f"JupyterLab's folders can't be made ({error.filename}: {error.strerror}).") from None
    try:
        for copied in copies.hand_out(config.notebooks_folder(), root):
            if copied.what in ("updated", "beside"):
                say(str(copied))
    except BadInput as error:
        say(f"JupyterLab starts without the labs' notebooks. {error}")
    with suppress(OSError):  # what is opened first is a convenience
        give_layout(made.workspaces, root)


# What JupyterLab calls the file of the workspace at /lab.
FILE = "default-37a8.jupyterlab-workspace"
NOTEBOOK_SHARE = 0.55  # of the width
DASHBOARD = "workshop-dashboard:dashboard"  # namespace and name of the panel, as the extension restores it


def give_layout(folder: Path, root: Path) -> None:
    """Write the first layout, with lab 0 of the folder `root`. An existing layout stays, and without lab 0 nothing is
    written. Raises OSError."""
    path = folder / FILE
    if (root / FIRST).is_file() and not path.exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = path.with_suffix(".part")  # JupyterLab can't read half a layout
        part.write_text(json.dumps(_layout()), encoding="utf-8")
        part.replace(path)


def _layout() -> dict[str, Any]:
    """The workspace as JupyterLab keeps it: lab 0 on the left, the dashboard on the right."""
    opened = f"notebook:{FIRST}"

    def tabs(widget: str) -> dict[str, Any]:
        return {"type": "tab-area", "currentIndex": 0, "widgets": [widget]}

    return {
        "metadata": {"id": "default"},
        "data": {
            "layout-restorer:data": {
                "main": {
                    "current": opened,
                    "dock": {
                        "type": "split-area",
                        "orientation": "horizontal",
                        "sizes": [NOTEBOOK_SHARE, 1 - NOTEBOOK_SHARE],
                        "children": [tabs(opened), tabs(DASHBOARD)],
                    },
                },
                "left": {"collapsed": True, "current": None, "visible": True, "widgets": []},
                "right": {"collapsed": True, "current": None, "visible": True, "widgets": []},
                "relativeSizes": [0, 1, 0],
            },
            opened: {"data": {"path": FIRST, "factory": "Notebook"}},
            DASHBOARD: {"data": {}},
        },
    }
