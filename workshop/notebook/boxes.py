"""A sentence in a box: the result of a check or a guess."""

from __future__ import annotations

from collections.abc import Iterable

from workshop.notebook import display
from workshop.notebook.cards import Piece
from workshop.report import html

GOOD, NEARLY, CALM = "good", "nearly", "calm"  # looks of `report.html.box`


class Message(display.NotebookDisplay):
    """A heading and a sentence, with a bar of a look. `inside` is HTML in place of the heading, which is for words
    alone then. `show` shows it at once, since a cell may say several."""

    def __init__(self, heading: str, text: str = "", look: str = CALM, inside: str = "") -> None:
        self.heading, self.text, self.look, self.inside = heading, text, look, inside

    def words(self) -> str:
        return f"{self.heading}. {self.text}".rstrip()

    def pieces(self) -> Iterable[Piece]:
        heading = self.inside or html.line("", self.heading)
        yield html.box(heading + (html.line(self.text) if self.text else ""), self.look)

    def show(self) -> None:
        display.show(self.words(), self.pieces())
