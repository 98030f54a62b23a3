"""A sentence in a box: what a check or a guess came to."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from workshop.notebook import display, html
from workshop.notebook.html import Piece

GOOD, NEARLY, CALM = "#00805f", "#b57300", "#8597a5"


class Said(display.Shown):
    """A heading and a sentence, with a bar of a colour. `inside` is HTML in place of the heading, which is for words
    alone then. `show` shows it at once, since a cell may say several."""

    def __init__(self, heading: str, text: str = "", colour: str = CALM, inside: str = "") -> None:
        self.heading, self.text, self.colour, self.inside = heading, text, colour, inside

    def words(self) -> str:
        return f"{self.heading}. {self.text}".rstrip()

    def pieces(self) -> Iterable[Piece]:
        heading = self.inside or f'<div style="font-weight:600">{escape(self.heading)}</div>'
        yield html.box(heading + (html.line(self.text) if self.text else ""), self.colour)

    def show(self) -> None:
        display.show(self.words(), self.pieces())
