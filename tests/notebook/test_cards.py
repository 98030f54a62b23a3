"""What cards are in a notebook: figures with titles, pictures that its file can bear."""

from __future__ import annotations

import io
from base64 import b64decode

import numpy as np
import plotly.graph_objects as go
from PIL import Image

from workshop.notebook import display
from workshop.report.cards import Card, figure, picture
from workshop.report.cards import pictures as row


def png(side: int, seed: int = 0) -> bytes:
    """Noise, which no compression makes smaller."""
    made = io.BytesIO()
    noise = np.random.default_rng(seed).integers(0, 256, (side, side, 3), np.uint8)
    Image.fromarray(noise).save(made, "PNG")
    return made.getvalue()


def test_a_figure_gets_the_title_of_its_card_and_keeps_its_plot() -> None:
    drawn = go.Figure(go.Scatter(y=[1, 2]), layout={"height": 300, "margin": {"t": 28}})
    found = display.figures([Card("loss", "Loss of <b>", (figure(drawn), figure(drawn)))])
    assert list(found) == ["loss", "loss-2"]
    one = found["loss"].layout
    assert one.title.text == "Loss of &lt;b&gt;"
    assert one.height - one.margin.t == 300 - 28, "the title has a room of its own"
    assert drawn.layout.title.text is None, "the page's own has none"


def test_small_pictures_are_shown_as_they_are_and_large_ones_smaller() -> None:
    small, large = png(60), png(1200)
    assert b64decode(display.picture_address(small, "image/png").removeprefix("data:image/png;base64,")) == small
    shown = display.picture_address(large, "image/png")
    assert len(shown) <= display.LARGEST < len(large)
    with Image.open(io.BytesIO(b64decode(shown.removeprefix("data:image/jpeg;base64,")))) as read:
        assert max(read.size) in display.SIDES


def test_what_is_large_and_no_picture_is_left_out() -> None:
    assert display.picture_address(b"no picture" * 100_000, "image/png") == ""


def test_what_is_left_out_is_said() -> None:
    address = "data:image/png;base64,".ljust(display.ALL, "A")
    (shown,) = display.pieces([Card("p", "", (row([picture(address, "Before"), picture(f"{address}A", "After")]),))])
    assert shown.count("<img") == 1 and "After is too large to be shown here" in shown
