"""A desk with originals and a learner's copies, for tests of handing out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from workshop.course.copies import hand_out

NAME = "1-small.ipynb"
EVE = 12345  # the number of a learner's account
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may write in everybody's folders")


class Desk:
    """Originals, and a learner's folder."""

    def __init__(self, folder: Path) -> None:
        self.originals, self.mine = folder / "originals", folder / "mine"
        self.originals.mkdir()
        self.publish("first")

    def publish(self, text: str) -> None:
        (self.originals / NAME).write_text(text)

    def write(self, text: str, name: str = NAME) -> None:
        (self.mine / name).write_text(text)

    def read(self, name: str = NAME) -> str:
        return (self.mine / name).read_text()

    def hand_out(self) -> str:
        (copied,) = hand_out(self.originals, self.mine)
        return copied.what

    @property
    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.mine.glob("*.ipynb")}
