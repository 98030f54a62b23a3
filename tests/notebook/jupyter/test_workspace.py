"""What JupyterLab opens the first time."""

from __future__ import annotations

import json
from pathlib import Path

from workshop.notebook.jupyter import prepare


def test_lab_0_beside_the_dashboard(tmp_path: Path) -> None:
    root, folder = tmp_path / "mine", tmp_path / "workspaces"
    root.mkdir()
    assert not prepare.give(folder, root, "0-first.ipynb")  # there is nothing to open yet
    (root / "0-first.ipynb").touch()
    assert prepare.give(folder, root, "0-first.ipynb")
    said = json.loads((folder / prepare.FILE).read_text())
    dock = said["data"]["layout-restorer:data"]["main"]["dock"]
    widgets = [area["widgets"] for area in dock["children"]]
    assert widgets == [["notebook:0-first.ipynb"], [prepare.DASHBOARD]]
    assert all(widget in said["data"] for area in widgets for widget in area)


def test_a_learners_layout_stays(tmp_path: Path) -> None:
    root, folder = tmp_path / "mine", tmp_path / "workspaces"
    for each in (root, folder):
        each.mkdir()
    (root / "0-first.ipynb").touch()
    (folder / prepare.FILE).write_text("theirs")
    assert not prepare.give(folder, root, "0-first.ipynb")
    assert (folder / prepare.FILE).read_text() == "theirs"
