"""Images as files to look at."""

from __future__ import annotations

import base64
import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def png(pixels: NDArray[np.uint8]) -> str:
    """A greyscale picture [height, width] as base64 of a PNG."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()
