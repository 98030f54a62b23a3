"""What can't be written is told in a sentence: whoever starts JupyterLab goes on without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from workshop.core import config
from workshop.core.errors import BadInput
from workshop.notebook.jupyter import prepare, settings


def test_settings_that_can_not_be_written_are_told(workshop_home: Path) -> None:
    (config.home() / "jupyter").write_text("a file of that name")
    with pytest.raises(BadInput, match="JupyterLab's folders can't be made"):
        prepare.prepare(lambda _: None)


def test_a_layout_that_can_not_be_written_is_left_out(workshop_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> bool:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(prepare, "give", full)
    prepare.prepare(lambda _: None)
    assert (settings.folders().configuration / "jupyter_server_config.json").is_file()
