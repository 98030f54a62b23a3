"""What JupyterLab opens the first time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workshop.jupyter import workspace


def test_lab_0_beside_the_dashboard(tmp_path: Path) -> None:
    root, folder = tmp_path / "mine", tmp_path / "workspaces"
    root.mkdir()
    assert not workspace.give(folder, root, "0-first.ipynb")  # there is nothing to open yet
    (root / "0-first.ipynb").touch()
    assert workspace.give(folder, root, "0-first.ipynb")
    said = json.loads((folder / workspace.FILE).read_text())
    dock = said["data"]["layout-restorer:data"]["main"]["dock"]
    widgets = [area["widgets"] for area in dock["children"]]
    assert widgets == [["notebook:0-first.ipynb"], [workspace.DASHBOARD]]
    assert all(widget in said["data"] for area in widgets for widget in area)


def test_half_a_layout_is_not_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: str) -> dict[str, object]:
        raise OSError(28, "No space left on device")

    (tmp_path / "0-first.ipynb").touch()
    monkeypatch.setattr(workspace, "layout", full)
    with pytest.raises(OSError, match="No space"):
        workspace.give(tmp_path / "workspaces", tmp_path, "0-first.ipynb")
    assert not (tmp_path / "workspaces" / workspace.FILE).exists()


def test_a_learners_layout_stays(tmp_path: Path) -> None:
    root, folder = tmp_path / "mine", tmp_path / "workspaces"
    for each in (root, folder):
        each.mkdir()
    (root / "0-first.ipynb").touch()
    (folder / workspace.FILE).write_text("theirs")
    assert not workspace.give(folder, root, "0-first.ipynb")
    assert (folder / workspace.FILE).read_text() == "theirs"
