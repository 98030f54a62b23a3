"""Pictures to look at: patients' scans with the true outline of their lesions, and with the model's."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

TILE = 192  # pixels of an image's side, about
GAP, HEAD, FOOT, TEXT = 10, 24, 26, 15
LINE, DASH = 2, 6  # pixels: how wide outlines are, and how long the pieces of the model's
INK, MUTED, PAPER = "#16232e", "#566573", "#ffffff"
# Sky blue and orange of Okabe and Ito's palette, which people with any colour vision can tell apart on grey.
TRUE, PREDICTED = (86, 180, 233), (230, 159, 0)

Mask = NDArray[np.bool_]  # [size, size]


@dataclass(frozen=True)
class Example:
    """A patient to look at: CT and PET [size, size] from 0 to 1, the true mask, and what to say below."""

    ct: NDArray[np.float32]
    pet: NDArray[np.float32]
    mask: Mask
    words: str


@dataclass(frozen=True)
class ScoredMask:
    """A model's mask of an example, and its Dice coefficient."""

    mask: Mask
    dice: float


def sheet(examples: Sequence[Example], answers: Mapping[str, Sequence[ScoredMask]]) -> bytes:
    """A PNG with a row for each example: CT, PET (dark where much was taken up, as is the custom), and for each column
    of `answers`, by its title, CT with both outlines. The true one is solid and blue, the model's dashed and orange."""
    times = max(TILE // len(examples[0].ct), 1)
    side = times * len(examples[0].ct)
    titles = ("CT", "PET", *answers)
    across, down = side + GAP, side + FOOT
    sheet_image = Image.new("RGB", (across * len(titles) - GAP, HEAD + down * len(examples)), PAPER)
    pen, font = ImageDraw.Draw(sheet_image), ImageFont.load_default(TEXT)
    for column, title in enumerate(titles):
        pen.text((column * across, 2), title, INK, font)
    for row, example in enumerate(examples):
        top = HEAD + row * down
        tiles = [(_grey(example.ct, times), example.words), (_grey(1 - example.pet, times), "")]
        for scored_masks in answers.values():
            tile = outlined(
                _grey(example.ct, times), _enlarged(example.mask, times), _enlarged(scored_masks[row].mask, times)
            )
            tiles.append((tile, f"Dice {scored_masks[row].dice:.2f}"))
        for column, (pixels, words) in enumerate(tiles):
            sheet_image.paste(Image.fromarray(pixels), (column * across, top))
            pen.text((column * across, top + side + 2), words, MUTED, font)
    file = io.BytesIO()
    sheet_image.save(file, "PNG")
    return file.getvalue()


def outlined(pixels: NDArray[np.uint8], true: Mask, predicted: Mask) -> NDArray[np.uint8]:
    """A picture [h, w, 3] with the outlines of both masks [h, w]; the model's leaves gaps, through which a true one
    below it is seen."""
    outlined_pixels = pixels.copy()
    outlined_pixels[outline(true)] = TRUE
    along = np.add.outer(np.arange(len(pixels)), np.arange(pixels.shape[1])) // DASH % 2 == 0
    outlined_pixels[outline(predicted) & along] = PREDICTED
    return outlined_pixels


def outline(mask: Mask) -> Mask:
    """The pixels on a mask's edge, from which a step of `LINE` pixels leads out of it."""
    framed = np.pad(mask, LINE)
    inner = mask.copy()
    for down in (-LINE, 0, LINE):
        for right in (-LINE, 0, LINE):
            moved = np.roll(framed, (down, right), (0, 1))
            inner &= moved[LINE:-LINE, LINE:-LINE]
    return mask & ~inner


def _grey(plane: NDArray[np.float32], times: int) -> NDArray[np.uint8]:
    """Values from 0 to 1 as a picture [h, w, 3], enlarged smoothly."""
    small = Image.fromarray(np.rint(255 * np.clip(plane, 0, 1)).astype(np.uint8))
    large = small.resize((times * small.width, times * small.height), Image.Resampling.BICUBIC)
    return np.repeat(np.asarray(large)[..., np.newaxis], 3, axis=2)


def _enlarged(mask: Mask, times: int) -> Mask:
    return np.kron(mask, np.ones((times, times), bool)).astype(bool)
