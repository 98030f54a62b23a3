"""Artifacts of runs, and the dashboard's own scripts, styles and fonts."""

from __future__ import annotations

import gzip
import mimetypes
from functools import cache
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from workshop.core.errors import BadInput
from workshop.report import html
from workshop.store.records import Artifact
from workshop.store.store import Store

FOR_EVER = "private, max-age=31536000, immutable"
INLINE = ("image/png", "image/jpeg", "text/plain", "application/json")
# What a browser shows of an artifact can neither run scripts nor reach anything.
SEALED = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
PRESSED = (".js", ".css", ".svg")


def routes(store: Store) -> list[BaseRoute]:
    def artifact(request: Request) -> Response:
        try:
            run = store.run(request.path_params["run"])  # addresses may hold numbers that no run can have
            stored_artifact = store.artifact(run.id, request.path_params["name"])
        except BadInput as error:
            return PlainTextResponse(str(error), 404)
        etag = f'"{stored_artifact.sha256}"'
        headers = {
            "etag": etag,
            "cache-control": FOR_EVER
            if is_version(request.query_params.get("v", ""), stored_artifact)
            else "private, no-cache",
            "content-security-policy": SEALED,
        }
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers=headers)
        media_type = shown_as(stored_artifact)
        if media_type not in INLINE or "download" in request.query_params:
            file_name = quote(stored_artifact.name.rpartition("/")[2])
            headers["content-disposition"] = f"attachment; filename*=UTF-8''{file_name}"
        return Response(stored_artifact.data or b"", media_type=media_type, headers=headers)

    def asset(request: Request) -> Response:
        name = request.path_params["name"]
        path = assets().get(name)
        if path is None:
            return PlainTextResponse("There is no such asset.", 404)
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        headers = {"cache-control": "public, max-age=86400", "vary": "accept-encoding"}
        press = name.endswith(PRESSED) and "gzip" in request.headers.get("accept-encoding", "")
        data = _read(path, press)
        if press:
            headers["content-encoding"] = "gzip"
        return Response(data, media_type=kind, headers=headers)

    return [Route("/artifact/{run:int}/{name:path}", artifact), Route("/assets/{name}", asset)]


def is_version(version: str, artifact: Artifact) -> bool:
    """Whether an address names just this content."""
    return len(version) >= 16 and artifact.sha256.startswith(version)


def shown_as(artifact: Artifact) -> str:
    """The media type for a browser; photos that came as inputs are known by their first bytes."""
    if artifact.media_type == "application/octet-stream" and artifact.data:
        if artifact.data.startswith(b"\xff\xd8\xff"):
            return "image/jpeg"
        if artifact.data.startswith(b"\x89PNG\r\n\x1a\n"):
            return "image/png"
    return artifact.media_type


@cache
def assets() -> dict[str, Path]:
    """Our own files, the plotly.js that came with the plotly package, and the font that came with Streamlit."""
    own_files = {path.name: path for path in (Path(__file__).parent / "static").iterdir()}
    fonts = Path(str(files("streamlit") / "static" / "static" / "media")).glob("SourceSansVF-Upright*.woff2")
    others = {
        "plotly.min.js": Path(str(files("plotly") / "package_data" / "plotly.min.js")),
        "palette.css": Path(html.__file__).with_name("palette.css"),
    }
    if font := next(fonts, None):
        others["source-sans.woff2"] = font
    return own_files | others


@cache
def _read(path: Path, pressed: bool) -> bytes:
    data = path.read_bytes()
    return gzip.compress(data, 6) if pressed else data
