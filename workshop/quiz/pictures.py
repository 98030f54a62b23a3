"""Pictures beside questions: files in the deck's folder, which are checked before anybody gets them."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import ParseError

from defusedxml.ElementTree import fromstring
from PIL import Image

from workshop.core import yaml_files
from workshop.core.errors import BadInput
from workshop.quiz.parts import Picture

LARGEST_PICTURE = 2 * 1024 * 1024  # bytes
MOST_PIXELS = 40_000_000
# The MIME type and Pillow's name of the format, by the file name's ending; Pillow doesn't read SVG.
KINDS: dict[str, tuple[str, str]] = {
    ".svg": ("image/svg+xml", ""),
    ".png": ("image/png", "PNG"),
    ".jpg": ("image/jpeg", "JPEG"),
    ".jpeg": ("image/jpeg", "JPEG"),
    ".webp": ("image/webp", "WEBP"),
}
# HTTP headers of a picture: with them, an SVG that is opened as a page can run and load nothing.
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
}
_SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class LoadedPicture:
    """A checked picture and its MIME type."""

    data: bytes
    kind: str

    @property
    def uri(self) -> str:
        """The picture as a data URI, for pages that must not load anything."""
        return f"data:{self.kind};base64,{base64.b64encode(self.data).decode()}"


def load(folder: Path | None, picture: Picture) -> LoadedPicture:
    """Read a picture from the deck's folder. Raises BadInput with one sentence if it is missing, outside of the
    folder, too large, or not of the kind that its name says."""
    name = picture.file
    if folder is None:
        raise BadInput(f"The picture {name!r} can't be found: this deck has no folder; leave it out, or use a file.")
    kind, decoder = KINDS.get(Path(name).suffix.lower(), ("", ""))
    if not kind:
        raise BadInput(f"The picture {name!r} should be a file of one of these kinds: {', '.join(KINDS)}.")
    file = (folder / name).resolve()
    if not file.is_relative_to(folder.resolve()):
        raise BadInput(f"The picture {name!r} lies outside of the deck's folder; it should be beside the deck.")
    data = yaml_files.read_bytes(
        file, LARGEST_PICTURE, f"The picture {name!r} has more than {LARGEST_PICTURE // 1024**2} MB."
    )
    problem = _raster(data, decoder) if decoder else _drawing(data)
    if problem:
        raise BadInput(f"The picture {name!r} {problem}.")
    return LoadedPicture(data, kind)


def _raster(data: bytes, decoder: str) -> str | None:
    """The problem of a pixel picture that Pillow should read with this decoder; None if it is fine."""
    try:
        with Image.open(io.BytesIO(data), formats=[decoder]) as image:
            if image.width * image.height > MOST_PIXELS:
                return f"has {image.width} × {image.height} pixels; it should have at most {MOST_PIXELS:,}"
            image.verify()
    except Exception as error:  # decoders raise whatever they like for broken files
        return f"is no {decoder} picture that can be read ({type(error).__name__})"
    return None


def _drawing(data: bytes) -> str | None:
    """The problem of an SVG; None if it is fine. As an image, and under `HEADERS`, it can't run or load anything."""
    try:
        root = fromstring(data)
    except (ParseError, ValueError, LookupError) as error:
        return f"is no SVG that can be read ({' '.join(str(error).split())[:80]})"
    if root.tag != f"{_SVG}svg":
        return "is no SVG; its outermost element should be svg, with SVG's namespace"
    return None
