"""Photos in and out: checked where they come from the user, written with few colours."""

from __future__ import annotations

import io
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from workshop.core import extras
from workshop.core.errors import BadInput

# Formats that Pillow reads by itself; others start programs or hold anything.
FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "BMP", "GIF", "PPM")
BUNDLED = ("china", "flower")  # scikit-learn's sample photos
SUNSET = "sunset"
MAX_SIDE = 16_384  # pixels
MAX_PIXELS = 20_000_000  # their raw colours are 60 MB, so that they fit into an artifact even if nothing compresses
MAX_BYTES = 64_000_000
AT_MOST = f"make it smaller first, at most {MAX_SIDE} a side and {MAX_PIXELS // 1_000_000} million in all"
PREVIEW_SIDE = 320  # pixels


def read(image: str, clusters: int) -> bytes:
    """The bytes of a photo: `china`, `flower`, `sunset` or a path. Raises BadInput if it can't have such a palette."""
    where = image
    if image == SUNSET:
        data = encode(sunset())
    elif image in BUNDLED:
        data = (_bundled(image) / f"{image}.jpg").read_bytes()
    else:
        path = Path(image).expanduser()
        where = f"The photo {image}"
        data = _bytes(path, where)
    decoded = pixels(data, where)
    width, height = decoded.shape[1::-1]
    if clusters > width * height:
        raise BadInput(f"{clusters} clusters need as many points; {image} has {width * height} pixels.")
    return data if image in (*BUNDLED, SUNSET) else encode(decoded)  # without place, time, camera and preview


def _bundled(image: str) -> Path:
    """The folder of scikit-learn's photos, found without importing it, which takes seconds."""
    extras.require(f"The photo {image}", extras.TRAINING, "sklearn")
    spec = find_spec("sklearn")
    assert spec is not None and spec.origin is not None, "it is installed"
    return Path(spec.origin).parent / "datasets" / "images"


def sunset() -> NDArray[np.uint8]:
    """A sun over the sea, (320, 480, 3): drawn by formulas, so that it is there without any file."""
    y, x = np.mgrid[-1:1:320j, -1.5:1.5:480j]
    sea = y > 0.25
    height = np.where(sea, 0.5 - y, y)  # the sea mirrors the sky
    ripples = np.where(sea, 0.06 * np.sin(60 * y**2 + 3 * np.sin(7 * x + 20 * y)), 0)
    glow = np.exp(-2 * ((x + 3 * ripples) ** 2 + height**2))
    disc = (x**2 + y**2 < 0.05) & ~sea
    red = 0.35 + 0.6 * glow + ripples
    green = 0.25 + 0.35 * glow - 0.1 * height + ripples
    blue = 0.5 - 0.2 * glow - 0.25 * height + ripples
    colours = np.stack([red, green, blue], axis=-1) * np.where(sea, 0.7, 1)[..., None]
    colours[disc] = 1, 0.9, 0.6
    return (255 * colours.clip(0, 1)).astype(np.uint8)


def _bytes(path: Path, where: str) -> bytes:
    if not path.exists():
        raise BadInput(f"{where} isn't there; give china, flower, or the path of a JPEG or PNG file.")
    if not path.is_file():
        raise BadInput(f"{where} is not a file; give china, flower, or the path of a JPEG or PNG file.")
    try:
        size = path.stat().st_size
        if size == 0:
            raise BadInput(f"{where} is empty; give a JPEG or PNG file.")
        if size > MAX_BYTES:
            raise BadInput(f"{where} has {size / 1e6:.0f} MB; at most {MAX_BYTES / 1e6:.0f} MB can be taken.")
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"{where} can't be read ({error.strerror}); give a file that you may read.") from error


def pixels(data: bytes, where: str = "The photo") -> NDArray[np.uint8]:
    """A photo's colours, (height, width, 3), turned as its camera says. Raises BadInput for other files."""
    try:
        with warnings.catch_warnings():
            # Pillow's own guard warns at other sizes; ours follows before anything is decoded.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            opened = Image.open(io.BytesIO(data), formats=FORMATS)
        width, height = opened.size
        if width > MAX_SIDE or height > MAX_SIDE or width * height > MAX_PIXELS:
            raise BadInput(f"{where} is {width} × {height} pixels; {AT_MOST}.")
        turned = ImageOps.exif_transpose(opened)
        if turned.mode[0] in "IF":
            raise BadInput(f"{where} has 16 or 32 bits for a grey; save it with 8 bits a colour, for instance as PNG.")
        if turned.has_transparency_data and np.asarray(turned.convert("RGBA").getchannel("A")).min() < 255:
            raise BadInput(
                f"{where} has transparent pixels, and these have no colour to cluster; save it without transparency, "
                "for instance as JPEG."
            )
        return np.asarray(turned.convert("RGB"))
    except Image.DecompressionBombError:
        raise BadInput(f"{where} has far too many pixels; {AT_MOST}.") from None
    except UnidentifiedImageError:
        raise BadInput(f"{where} is not an image that can be read; give a JPEG or PNG file.") from None
    except (OSError, SyntaxError, ValueError) as error:
        raise BadInput(f"{where} is a damaged image ({error}); give a JPEG or PNG file that opens.") from error


def smaller(photo: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A photo (height, width, 3) thinned to at most PREVIEW_SIDE pixels a side."""
    stride = -(-max(photo.shape[:2]) // PREVIEW_SIDE)
    return photo[::stride, ::stride]


def encode(photo: NDArray[np.uint8]) -> bytes:
    """A photo (height, width, 3) as PNG, which keeps every colour."""
    return _png(Image.fromarray(photo))


def encode_quantised(labels: NDArray[np.integer], palette: NDArray[np.uint8]) -> bytes:
    """Labels (height, width) with their colours (k, 3) as PNG, with a palette where k <= 256."""
    if len(palette) > 256:
        return _png(Image.fromarray(palette[labels]))
    image = Image.fromarray(labels.astype(np.uint8))
    image.putpalette(palette.tobytes())
    return _png(image)


def _png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=image.mode == "P")
    return buffer.getvalue()
