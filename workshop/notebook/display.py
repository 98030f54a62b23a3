"""How things show themselves in a notebook, and where there is none: rich where a browser shows it, words elsewhere.

Cards are HTML, figures with titles of their own, and pictures that a notebook's file can bear. Links to the dashboard's
pages are left out: whoever reads a notebook may not have the dashboard.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import time
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import plotly.graph_objects as go
import plotly.io
from IPython import get_ipython
from IPython.display import display, update_display
from PIL import Image
from plotly.io.base_renderers import MimetypeRenderer

from workshop.core.errors import BadInput
from workshop.core.words import nearest
from workshop.report import html, terminal
from workshop.report.cards import Card
from workshop.report.figures import theme
from workshop.report.snapshot import Snapshot

MACROS = html.Macros(Path(__file__).with_name("notebook.html"))

Piece = str | go.Figure  # HTML, or a figure

TITLE = 28  # pixels above a figure
ALL = 1_000_000  # characters that the pictures of a card may take up in a notebook's file

_ARTIFACT = re.compile(r"artifact/\d+/([^?]+)")


def pieces(cards: Iterable[Card], snapshot: Snapshot | None = None) -> Iterator[Piece]:
    """Cards as pieces, one after the other; `snapshot` has the pictures that they name."""
    for card in cards:
        if card.title:
            yield html.line(card.title, tone="label")
        for piece in html.pieces(card.parts, linked=False, source=_source(snapshot)):
            yield piece if isinstance(piece, str) else piece["figure"]


def figures(cards: Iterable[Card]) -> dict[str, go.Figure]:
    """The figures of cards by the cards' names, under the cards' titles; further ones of a card have a number behind
    it."""
    by_name: dict[str, go.Figure] = {}
    for card in cards:
        plots = [part["figure"] for part in card.parts if part["kind"] == "figure"]
        for number, plot in enumerate(plots, 1):
            by_name.setdefault(card.name if number == 1 else f"{card.name}-{number}", titled(plot, card.title))
    return by_name


def titled(plot: go.Figure, title: str) -> go.Figure:
    """A figure with a title above it, as it stands alone; its plot stays as large as it was."""
    copy = go.Figure(plot)
    if not title or copy.layout.title.text:
        return copy
    above, height = copy.layout.margin.t or 0, copy.layout.height
    place = {"x": 0, "xref": "paper", "y": 1, "yref": "container", "yanchor": "top", "pad": {"t": 6}}
    copy.update_layout(title={"text": escape(title), "font": {"size": 15}, **place}, margin_t=above + TITLE)
    return copy if height is None else copy.update_layout(height=height + TITLE)


def _source(snapshot: Snapshot | None) -> Callable[[str], str | None]:
    """The addresses of a card's pictures, which hold the pictures themselves: empty for a picture that is too large,
    None for one that isn't there."""
    room = ALL

    def address(url: str) -> str | None:
        nonlocal room
        data = url
        if not url.startswith("data:image/"):
            match = _ARTIFACT.match(url)
            artifact = snapshot.artifacts.get(unquote(match[1])) if snapshot is not None and match else None
            if snapshot is None or artifact is None or not artifact.media_type.startswith("image/"):
                return None
            data = picture_address(snapshot.read(artifact.name), artifact.media_type)
        if len(data) > room:
            return ""
        room -= len(data)
        return data

    return address


LARGEST = 300_000  # characters of one
SIDES = (840, 420, 210)  # pixels: twice the width at which it is shown, or less


def picture_address(data: bytes, kind: str) -> str:
    """A picture itself as an address (`data:...`), of a large one a smaller copy; empty for one that is too large for
    that, or can't be read."""
    if len(address := _address(data, kind)) <= LARGEST:
        return address
    try:
        image = Image.open(io.BytesIO(data)).convert("RGB")
    except OSError:
        return ""
    for side in SIDES:
        image.thumbnail((side, side))
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=85)
        if len(small := _address(buffer.getvalue(), "image/jpeg")) <= LARGEST:
            return small
    return ""


def _address(data: bytes, kind: str) -> str:
    return f"data:{kind};base64,{b64encode(data).decode()}"


PLOTLY = "application/vnd.plotly.v1+json"  # what JupyterLab's plotly extension draws, without any network
RENDERER = "workshop"
EVERY = 0.4  # seconds between two updates of a live line


class NotebookDisplay(ABC):
    """Something that shows itself: as words where there are only words, and in a notebook as HTML with figures."""

    _cell: Any = None  # in which it has shown itself by being made

    @abstractmethod
    def words(self) -> str:
        """The whole thing as plain text."""

    @abstractmethod
    def pieces(self) -> Iterable[Piece]:
        """The parts that a notebook shows, from top to bottom."""

    def __repr__(self) -> str:
        return self.words()

    def _ipython_display_(self) -> None:
        if self._cell is None or self._cell != _cell():
            show(self.words(), self.pieces())


class CardsDisplay(NotebookDisplay):
    """Something that shows itself as cards."""

    @abstractmethod
    def cards(self) -> Sequence[Card]:
        """The cards; figures are left out of the words."""

    def words(self) -> str:
        return terminal.plain_text(self.cards())

    def pieces(self) -> Iterable[Piece]:
        return pieces(self.cards())


class FiguresDisplay(NotebookDisplay):
    """Something with figures by name."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of it for sentences."""

    @property
    @abstractmethod
    def figures_by_name(self) -> Mapping[str, go.Figure]: ...

    @property
    def figures(self) -> list[str]:
        """The names that `figure` takes; the first one is what it shows by default."""
        return list(self.figures_by_name)

    def figure(self, name: str | None = None) -> go.Figure:
        """A figure of its page, as Plotly has it; without a name the first one. Raises BadInput."""
        by_name = self.figures_by_name
        if not by_name:
            raise BadInput(f"{self.name} has nothing that can be drawn.")
        chosen = next(iter(by_name)) if name is None else name
        if chosen not in by_name:
            raise BadInput(f"{self.name} has no figure {chosen!r}; {nearest(chosen, by_name)}")
        return go.Figure(by_name[chosen])


class ResultDisplay(FiguresDisplay):
    """A run or a study."""

    address: str | None  # of its page on the dashboard

    @abstractmethod
    def head(self) -> str:
        """It as HTML, without its figures."""

    def preview(self) -> Iterable[Piece]:
        """Its first figure."""
        if self.figures_by_name:
            yield self.figure()

    def pieces(self) -> Iterable[Piece]:
        yield self.head()
        yield from self.preview()

    def title_line(self, text: str) -> str:
        return MACROS.address(self.address, "its page", text)

    def show_at(self, line: StatusLine) -> None:
        """Show it in the place of a line. As the value of the same cell, it isn't shown once more."""
        line.last(self.words(), self.head())
        show("", self.preview())
        self._cell = _cell()


def show(words: str, pieces: Iterable[Piece]) -> None:
    """Show pieces one below the other; where HTML can't be shown, the first one reads `words`, others nothing."""
    if get_ipython() is None:
        if words:
            print(words)
        return
    for is_html, group in groupby([*([""] if words else []), *pieces], lambda piece: isinstance(piece, str)):
        if is_html:
            inner = "".join(map(str, group))
            display({"text/html": html.alone(inner) if inner else "<span></span>", "text/plain": words}, raw=True)
            words = ""
            continue
        for piece in group:
            display(_bundle(json.loads(theme.on_paper(piece).to_json())), raw=True)


class StatusLine:
    """A status in one place that is replaced: HTML with a bar, or a line of text outside of notebooks.

    `update` shows at most a few states a second; `last` always shows the last one.
    """

    def __init__(self) -> None:
        self._id: str | None = None
        self._said = ""
        self._at = float("-inf")

    def update(self, words: str, inner: str) -> None:
        if words != self._said and time.monotonic() - self._at >= EVERY:
            self.last(words, inner)

    def say(self, sentence: str) -> None:
        self.last(sentence, html.box(html.line(sentence)))

    def last(self, words: str, inner: str) -> None:
        self._said, self._at = words, time.monotonic()
        if get_ipython() is None:
            print(words, file=sys.stderr, flush=True)
            return
        bundle = {"text/html": html.alone(inner), "text/plain": words}
        if self._id is None:
            self._id = display(bundle, raw=True, display_id=True).display_id
        else:
            update_display(bundle, raw=True, display_id=self._id)


def _cell() -> Any:
    """The number of a cell's execution; None outside of a notebook."""
    shell = get_ipython()
    return None if shell is None else shell.execution_count


def _bundle(figure: dict[str, Any]) -> dict[str, Any]:
    """A figure as a notebook keeps it; words for where it can't be drawn."""
    return {PLOTLY: {**figure, "config": {"displayModeBar": False, "responsive": True}}, "text/plain": "(a figure)"}


class _Offline(MimetypeRenderer):
    """plotly's own way with words beside the figure: never a script from a network, never plotly.js in the notebook."""

    def to_mimebundle(self, fig_dict: dict[str, Any]) -> dict[str, Any]:
        return _bundle(json.loads(plotly.io.to_json(fig_dict, validate=False)))


def draw_offline() -> None:
    """Have every figure of this notebook drawn by JupyterLab itself, unless somebody has chosen otherwise."""
    if get_ipython() is not None and "PLOTLY_RENDERER" not in os.environ:
        plotly.io.renderers[RENDERER] = _Offline()
        plotly.io.renderers.default = RENDERER


GOOD, NEARLY, CALM = "good", "nearly", "calm"  # looks of `report.html.box`


class Message(NotebookDisplay):
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
        show(self.words(), self.pieces())
