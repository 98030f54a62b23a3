"""A picture of true images and of what the attacker made of them."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from workshop.workloads.mnist.data.images import SIDE

SCALE = 3  # by which pixels are enlarged
COLUMNS, MOST = 8, 32  # digits beside each other, and in all
GAP, TEXT = 8, 18  # pixels
NAMES = 100  # pixels for the words beside the rows
INK, PAPER = 40, 255
WORDS = ("true", "recovered")


ImagePair = tuple[NDArray[np.float32], NDArray[np.float32], str]  # true and recovered [28, 28], and words below


def draw_pairs(pairs: Sequence[ImagePair]) -> bytes:
    """A PNG of the first pairs: rows of true digits, each with the recovered ones and labels below."""
    pairs = pairs[:MOST]
    side = SIDE * SCALE
    rows = [pairs[at : at + COLUMNS] for at in range(0, len(pairs), COLUMNS)]
    height = 2 * (side + GAP) + TEXT + GAP
    width = NAMES + min(len(pairs), COLUMNS) * (side + GAP)
    canvas = Image.new("L", (width, max(len(rows), 1) * height), PAPER)
    pen, font = ImageDraw.Draw(canvas), ImageFont.load_default(14)
    for number, row in enumerate(rows):
        top = number * height + GAP // 2
        for below, word in enumerate(WORDS):
            pen.text((GAP, top + below * (side + GAP) + side // 2), word, INK, font, anchor="lm")
        for column, pair in enumerate(row):
            x = NAMES + column * (side + GAP)
            for below, pixels in enumerate(pair[:2]):
                canvas.paste(_enlarged(pixels), (x, top + below * (side + GAP)))
            pen.text((x + side // 2, top + 2 * (side + GAP)), pair[2], INK, font, anchor="ma")
    file = io.BytesIO()
    canvas.save(file, "PNG")
    return file.getvalue()


def _enlarged(pixels: NDArray[np.float32]) -> Image.Image:
    """Pixels stay sharp, ink is white as in the data."""
    grey = np.rint(255 * np.clip(np.nan_to_num(pixels), 0, 1)).astype(np.uint8)
    return Image.fromarray(np.kron(grey, np.ones((SCALE, SCALE), np.uint8)))
