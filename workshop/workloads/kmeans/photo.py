"""Photos in and out: checked where they come from the user, written with few colours."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from workshop.core.errors import BadInput

# Formats that Pillow reads by itself; others start programs or hold anything.
FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "BMP", "GIF", "PPM")
BUNDLED = ("china", "flower")  # scikit-learn's sample photos
MAX_SIDE = 16_384  # pixels
MAX_PIXELS = 20_000_000  # their raw colours are 60 MB, so that they fit into an artifact even if nothing compresses
MAX_BYTES = 64_000_000
AT_MOST = f"make it smaller first, at most {MAX_SIDE} a side and {MAX_PIXELS // 1_000_000} million in all"
PREVIEW_SIDE = 320  # pixels
ORIENTATION, BITS_PER_SAMPLE, PHOTOMETRIC = 0x0112, 258, 262  # tags of EXIF and TIFF
WHITE_IS_ZERO = 0
# Segments of a JPEG that its pixels don't need: applications' own (but JFIF's and Adobe's, which tells how colours
# are stored), and comments.
REMARKS = frozenset({*range(0xE1, 0xEE), 0xEF, 0xFE})
_MARKER = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")


def read(image: str, clusters: int) -> bytes:
    """The bytes of a photo: `china`, `flower` or a path. Raises BadInput if it can't be quantised to that palette."""
    if image in BUNDLED:
        data = (_bundled() / f"{image}.jpg").read_bytes()
        where = image
    else:
        path = Path(image).expanduser()
        where = f"The photo {image}"
        data = _bytes(path, where)
    decoded = pixels(data, where)
    width, height = decoded.shape[1::-1]
    if clusters > width * height:
        raise BadInput(f"{clusters} clusters need as many points; {image} has {width * height} pixels.")
    return data if image in BUNDLED else _bare(data, decoded)


def _bundled() -> Path:
    """The folder of scikit-learn's photos, found without importing it, which takes seconds."""
    spec = find_spec("sklearn")
    if spec is None or spec.origin is None:
        raise BadInput("scikit-learn, whose photos china and flower are, is not installed; give a photo of your own.")
    return Path(spec.origin).parent / "datasets" / "images"


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
        if _transparent(turned):
            raise BadInput(
                f"{where} has transparent pixels, and these have no colour to cluster; save it without transparency, "
                "for instance as JPEG."
            )
        if turned.mode.startswith("I;16") or (turned.mode == "I" and opened.format == "PPM"):
            return _grey(turned, opened)
        if turned.mode[0] in "IF":
            raise BadInput(
                f"{where} has {'32 bits' if turned.mode == 'I' else 'fractions'} for a grey; save it with 8 or 16 bits "
                "a colour, for instance as PNG."
            )
        return np.asarray(turned.convert("RGB"))
    except Image.DecompressionBombError:
        raise BadInput(f"{where} has far too many pixels; {AT_MOST}.") from None
    except UnidentifiedImageError:
        raise BadInput(f"{where} is not an image that can be read; give a JPEG or PNG file.") from None
    except (OSError, SyntaxError, ValueError) as error:
        raise BadInput(f"{where} is a damaged image ({error}); give a JPEG or PNG file that opens.") from error


def _transparent(image: Image.Image) -> bool:
    """Whether any pixel is less than opaque; an alpha channel alone makes none so."""
    if not image.has_transparency_data:
        return False
    if image.mode[0] == "I":
        return bool(np.any(np.asarray(image) == image.info["transparency"]))
    lowest: Any = image.convert("RGBA").getchannel("A").getextrema()[0]
    return bool(lowest < 255)


def _grey(image: Image.Image, opened: Image.Image) -> NDArray[np.uint8]:
    """The colours of a grey photo with up to 16 bits a pixel, each the nearest one of 8 bits. (Of colours with 16 bits
    Pillow gives the upper 8.) `opened` is the photo as it came from its file."""
    tags: Mapping[int, Any] = getattr(opened, "tag_v2", {})
    lightest = 2 ** tags.get(BITS_PER_SAMPLE, (16,))[0] - 1
    grey = np.rint(np.asarray(image, np.float32).clip(0, lightest) * (255 / lightest)).astype(np.uint8)
    if tags.get(PHOTOMETRIC) == WHITE_IS_ZERO:
        grey = 255 - grey
    return np.repeat(grey[:, :, None], 3, axis=2)


def _bare(data: bytes, decoded: NDArray[np.uint8]) -> bytes:
    """A photo's file without place, time, camera, comments and preview: a JPEG with the same bytes of pixels, other
    formats as PNG."""
    if not data.startswith(b"\xff\xd8"):
        return encode(decoded)
    with Image.open(io.BytesIO(data), formats=["JPEG"]) as opened:
        orientation = opened.getexif().get(ORIENTATION, 1)
    content = b"\xff\xd8"
    if orientation != 1:
        exif = Image.Exif()
        exif[ORIENTATION] = orientation
        metadata = exif.tobytes()
        content += b"\xff\xe1" + (len(metadata) + 2).to_bytes(2, "big") + metadata
    content += b"".join(_segments(data))
    try:
        same = np.array_equal(pixels(content), decoded)
    except BadInput:
        same = False
    return content if same else encode(decoded)  # a file of which Pillow makes more than the standard says


def _segments(data: bytes) -> Iterator[bytes]:
    """The segments of a JPEG behind its beginning, up to its end, that its pixels are made of. ITU-T T.81, B.1."""
    at = 2
    while (at := data.find(b"\xff", at)) >= 0 and at + 1 < len(data):
        marker = data[at + 1]
        if marker == 0xFF:  # fills up
            at += 1
        elif marker == 0xD9:
            break
        elif marker in (0x00, 0x01, *range(0xD0, 0xD8)):  # inside of the pixels' own bytes, which are told below
            at += 2
        else:
            end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
            if marker == 0xDA:
                match = _MARKER.search(data, end)  # the first marker that isn't part of the scan's pixels
                end = match.start() if match else len(data)
            if marker not in REMARKS:
                yield data[at:end]
            at = end
    yield b"\xff\xd9"


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
