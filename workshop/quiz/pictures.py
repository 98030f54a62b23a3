"""Pictures beside questions: files in the deck's folder, which are checked before anybody gets them."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path

from defusedxml.ElementTree import fromstring
from PIL import Image

from workshop.core import yaml_files
from workshop.core.errors import BadInput
from workshop.quiz.parts import Picture

LARGEST_PICTURE = 2 * 1024 * 1024  # bytes
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
_SVG = "{http://www.w3.org/2000/svg}svg"


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
    too_large = f"The picture {name!r} has more than {LARGEST_PICTURE // 1024**2} MB."
    data = yaml_files.read_bytes(file, LARGEST_PICTURE, too_large)
    try:
        if decoder:
            with Image.open(io.BytesIO(data), formats=[decoder]) as image:
                image.verify()
        # As an image, and under `HEADERS`, an SVG can't run or load anything.
        elif fromstring(data).tag != _SVG:
            raise ValueError("its outermost element should be svg, with SVG's namespace")
    except Exception as error:  # decoders raise whatever they like for broken files
        why = type(error).__name__ if decoder else " ".join(str(error).split())[:80]
        raise BadInput(f"The picture {name!r} is no {decoder or 'SVG'} picture that can be read ({why}).") from None
    return LoadedPicture(data, kind)
