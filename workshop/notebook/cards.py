"""Cards as a notebook shows them: HTML, figures with titles of their own, and pictures that its file can bear.

Links to the dashboard's pages are left out: whoever reads a notebook may not have the dashboard.
"""

from __future__ import annotations

import io
import re
import warnings
from base64 import b64encode
from collections.abc import Iterable, Iterator
from html import escape
from urllib.parse import unquote

import plotly.graph_objects as go
from PIL import Image, ImageOps

from workshop.report import html
from workshop.report.cards import Card
from workshop.report.snapshot import Snapshot

Piece = str | go.Figure  # HTML, or a figure

TITLE = 28  # pixels above a figure
ALL = 1_000_000  # characters that the pictures of a card may take up in a notebook's file

_ARTIFACT = re.compile(r"/artifact/\d+/([^?]+)")


def pieces(cards: Iterable[Card], snapshot: Snapshot | None = None) -> Iterator[Piece]:
    """Cards as pieces, one after the other; `snapshot` has the pictures that they name."""
    for card in cards:
        if card.title:
            yield html.line(card.title, tone="label")
        for piece in html.pieces(card.parts, linked=False, source=_Source(snapshot)):
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


class _Source:
    """The addresses of a card's pictures, which hold the pictures themselves."""

    def __init__(self, snapshot: Snapshot | None) -> None:
        self._snapshot, self._left = snapshot, ALL

    def __call__(self, url: str) -> str | None:
        """Empty for a picture that is too large, None for one that isn't there."""
        address = url if url.startswith("data:image/") else self._read(url)
        if address is None or len(address) > self._left:
            return address and ""
        self._left -= len(address)
        return address

    def _read(self, url: str) -> str | None:
        match = _ARTIFACT.match(url)
        artifact = self._snapshot.artifacts.get(unquote(match[1])) if self._snapshot is not None and match else None
        if self._snapshot is None or artifact is None or not artifact.media_type.startswith("image/"):
            return None
        return picture_address(self._snapshot.read(artifact.name), artifact.media_type)


LARGEST = 300_000  # characters of one
SIDES = (840, 420, 210)  # pixels: twice the width at which it is shown, or less
MOST_PIXELS = 40_000_000  # that are read to make a smaller one


def picture_address(data: bytes, kind: str) -> str:
    """A picture itself as an address (`data:...`), of a large one a smaller copy; empty for one that is too large for
    that, or can't be read."""
    address = _address(data, kind)
    return address if len(address) <= LARGEST else _smaller(data)


def _smaller(data: bytes) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # looked at below, before it is decoded
            opened = Image.open(io.BytesIO(data))
        if opened.width * opened.height > MOST_PIXELS:
            return ""
        image = ImageOps.exif_transpose(opened).convert("RGB")
        for side in SIDES:
            image.thumbnail((side, side))
            buffer = io.BytesIO()
            image.save(buffer, "JPEG", quality=85)
            if len(small := _address(buffer.getvalue(), "image/jpeg")) <= LARGEST:
                return small
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        pass
    return ""


def _address(data: bytes, kind: str) -> str:
    return f"data:{kind};base64,{b64encode(data).decode()}"
