"""What JupyterLab opens the first time: lab 0 beside the dashboard. From then on the layout is the learner's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# What JupyterLab calls the file of the workspace at /lab.
FILE = "default-37a8.jupyterlab-workspace"
NOTEBOOK_SHARE = 0.55  # of the width
DASHBOARD = "workshop-dashboard:dashboard"  # namespace and name of the panel, as the extension restores it


def give(folder: Path, root: Path, notebook: str) -> bool:
    """Write the first layout, with a notebook of the folder `root`. A layout that is there is somebody's and stays;
    without the notebook there is nothing to open. Returns whether it was written."""
    path = folder / FILE
    if not (root / notebook).is_file():
        return False
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        with path.open("x", encoding="utf-8") as file:
            try:
                file.write(json.dumps(layout(notebook)))
                file.flush()
            except OSError:  # half a layout would stay, and JupyterLab can't read it
                path.unlink()
                raise
    except FileExistsError:
        return False
    return True


def layout(notebook: str) -> dict[str, Any]:
    """The workspace as JupyterLab keeps it: a notebook on the left, the dashboard on the right."""
    opened = f"notebook:{notebook}"

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
            opened: {"data": {"path": notebook, "factory": "Notebook"}},
            DASHBOARD: {"data": {}},
        },
    }
