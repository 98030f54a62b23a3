"""What can't be written is told in a sentence: whoever starts JupyterLab goes on without it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workshop.core import config
from workshop.core.errors import BadInput
from workshop.notebook.jupyter import settings


def test_settings_that_can_not_be_written_are_told(workshop_home: Path) -> None:
    (config.home() / "jupyter").write_text("a file of that name")
    with pytest.raises(BadInput, match="JupyterLab's folders can't be made"):
        settings.prepare(lambda _: None)


def test_lab_0_beside_the_dashboard_unless_the_learner_has_a_layout(tmp_path: Path) -> None:
    root, folder = tmp_path / "mine", tmp_path / "workspaces"
    root.mkdir()
    settings.give_layout(folder, root)
    assert not folder.exists(), "there is nothing to open yet"
    (root / settings.FIRST).touch()
    settings.give_layout(folder, root)
    file = folder / settings.FILE
    said = json.loads(file.read_text())
    dock = said["data"]["layout-restorer:data"]["main"]["dock"]
    widgets = [area["widgets"] for area in dock["children"]]
    assert widgets == [["notebook:0-first.ipynb"], ["workshop-dashboard:dashboard"]]
    assert all(widget in said["data"] for area in widgets for widget in area)
    file.write_text("theirs")
    settings.give_layout(folder, root)
    assert file.read_text() == "theirs"


def test_a_layout_that_can_not_be_written_is_left_out(workshop_home: Path) -> None:
    base = settings.base_folder()
    (base / "workspaces").write_text("a file of that name")
    settings.prepare(lambda _: None)
    assert (base / "config" / "jupyter_server_config.json").is_file()
