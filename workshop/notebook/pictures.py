"""Pictures of runs inside of a notebook, whose file keeps every byte that is shown."""

from __future__ import annotations

import io
import warnings
from base64 import b64encode

from PIL import Image, ImageOps

LARGEST = 300_000  # characters of one
SIDES = (840, 420, 210)  # pixels: twice the width at which it is shown, or less
MOST_PIXELS = 40_000_000  # that are read to make a smaller one


def address(data: bytes, kind: str) -> str:
    """A picture itself as an address (`data:...`), of a large one a smaller copy; empty for one that is too large for
    that, or can't be read."""
    whole = _address(data, kind)
    return whole if len(whole) <= LARGEST else _smaller(data)


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
            made = io.BytesIO()
            image.save(made, "JPEG", quality=85)
            if len(small := _address(made.getvalue(), "image/jpeg")) <= LARGEST:
                return small
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        pass
    return ""


def _address(data: bytes, kind: str) -> str:
    return f"data:{kind};base64,{b64encode(data).decode()}"
