"""The server: Streamlit and everything beside it in one ASGI process; artifacts of runs, and the dashboard's own
scripts, styles and fonts."""

from __future__ import annotations

import argparse
import gzip
import logging
import mimetypes
import os
import resource
import sys
from functools import cache, partial
from importlib import import_module
from importlib.resources import files
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any
from urllib.parse import quote

import uvicorn
from starlette.convertors import IntegerConvertor, StringConvertor, register_url_convertor
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from workshop import registry
from workshop.core import config
from workshop.core.environment import raise_limits
from workshop.core.errors import BadInput, WorkshopError
from workshop.report import html
from workshop.report.figures import theme
from workshop.sessions.supervisor import check_port
from workshop.store.records import Artifact
from workshop.store.sessions import recorded
from workshop.store.store import Store
from workshop.web import actions, address, live, templates
from workshop.web.auth_middleware import HUB_LOGIN, AuthMiddleware, cookie_name
from workshop.web.code_form import Join, log_out
from workshop.web.hub import HubLogin
from workshop.web.limits import LimitMiddleware
from workshop.web.prefix import behind
from workshop.web.quiz import routes as quiz

STREAMLIT_SETTINGS: dict[str, Any] = {
    "browser.gatherUsageStats": False,
    "server.headless": True,
    "server.showEmailPrompt": False,
    "server.fileWatcherType": "none",
    "server.runOnSave": False,
    "server.maxUploadSize": 64,  # MB, as much as an artifact can have
    "client.toolbarMode": "minimal",
    "client.showErrorDetails": "none",
    "client.showErrorLinks": False,
    "runner.magicEnabled": False,
    # A full garbage collection after every run of a page is 100 ms of CPU, five times what the page itself takes;
    # Python's own collections happen when there is something to collect.
    "runner.postScriptGC": False,
    **{
        f"theme.{look}.{name}": colour
        for name, *colours in (
            ("primaryColor", theme.ACCENT, "#7fc4e0"),
            ("backgroundColor", theme.PAPER, "#17222b"),
            ("secondaryBackgroundColor", theme.PANEL, "#22303b"),
            ("textColor", theme.INK, "#e3eaf0"),
            ("linkColor", theme.ACCENT, "#7fc4e0"),
            ("borderColor", theme.LINE, "#3b4a57"),
        )
        for look, colour in zip(("light", "dark"), colours, strict=True)
    },  # as in workshop/report/palette.css
    "theme.baseRadius": "0.5rem",
    "theme.showWidgetBorder": True,
    "theme.baseFontSize": 17,
    "theme.headingFontSizes": ["1.9rem", "1.5rem", "1.3rem", "1.12rem", "1.05rem", "1rem"],
    "theme.chartCategoricalColors": list(theme.RANKS),
    "logger.level": "warning",
}


LARGEST_MESSAGE = 4 << 20  # bytes on a WebSocket: all that stands in the fields of a page
LARGEST_LOG = 8 << 20  # bytes of the file, and of the older one beside it
GRACE = 1  # seconds for requests that are under way when the server is asked to end


class CompressedScripts(GZipMiddleware):
    """Compresses Streamlit's static files, which Streamlit sends as they are. Pages stay as they are: they hold tokens
    beside words of visitors."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_static = scope["type"] == "http" and scope["path"].startswith("/static/")
        await (super().__call__ if is_static else self.app)(scope, receive, send)


def build(store: Store, port: int, framed_by: str = "", prefix: str = "", proxy: str = "") -> Any:
    """The ASGI application. Streamlit's settings are the whole process's, so there is one application per process."""
    from streamlit import config as streamlit_config
    from streamlit.starlette import App
    from streamlit.web.bootstrap import load_config_options

    streamlit_config.get_config_files = lambda file_name: []  # the user's settings are for other apps
    load_config_options(STREAMLIT_SETTINGS)
    IntegerConvertor.regex = "[0-9]{1,18}"  # no number of anything has more digits, and Python reads no more
    folder = config.app_folder()
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))  # pages import what they share from there
    templates.mark(recorded(store.database))
    join = Route("/join", Join(store, cookie_name(port)).respond, methods=["GET", "POST"])
    by_hub = HubLogin(store, cookie_name(port)).routes() if address.service_prefix() else []
    leave = Route("/leave", partial(log_out, store, cookie_name(port)), methods=["GET", "POST"])
    return App(
        folder / "streamlit_app.py",
        routes=[
            join,
            Route("/accessibility", lambda _: templates.page("accessibility")),
            leave,
            *by_hub,
            *live.routes(store),
            *artifact_routes(store),
            *actions.routes(store),
            *quiz.routes(store, cookie_name(port)),
            *_streamlit_routes(),
        ],
        middleware=[
            *behind(prefix, proxy),
            Middleware(CompressedScripts, minimum_size=10_000, compresslevel=5),
            Middleware(
                AuthMiddleware,
                store=store,
                port=port,
                framed_by=framed_by,
                owner=os.environ.get(address.OWNER, ""),
                login_page=HUB_LOGIN if by_hub else "/join",
            ),
            Middleware(LimitMiddleware),
        ],
    )


class _Unknown(StringConvertor):
    """Any path but those below which Streamlit has files and routes, and those that it sends on without their slash."""

    regex = r"(?!(?:_stcore|static|media|component)/|favicon\.png$|manifest\.json$).*[^/]"


def _streamlit_routes() -> list[BaseRoute]:
    """Streamlit's page at the addresses of our pages, with something to show before its scripts have drawn anything,
    which takes seconds. Any other address is a 404, where Streamlit would send its page, too: these routes come last,
    since the last one takes all that is left."""
    register_url_convertor("unknown", _Unknown())
    index = (files("streamlit") / "static" / "index.html").read_text(encoding="utf-8")
    page = index.replace("</head>", f"{templates.render('loading', theme=theme)}</head>", 1)

    def show(request: Request) -> Response:
        return HTMLResponse(page, headers={"cache-control": "no-cache"})

    def lost(request: Request) -> Response:
        words, link = "There is no page at this address.", ("./", "Go to the first page")
        return templates.page("plain", 404, title="No such page", words=words, link=link)

    return [
        Route("/home", lambda _: RedirectResponse("/")),  # which Streamlit only knows as the first page
        *(Route(path, show) for path in ("/", *(f"/{page.name}" for page in registry.pages()))),
        Route("/{path:unknown}", lost),
    ]


def serve(host: str, port: int, framed_by: str = "", proxy: str = "", prefix: str = "") -> None:
    """Serve until SIGTERM or SIGINT; pages of the origins `framed_by` may show ours in a frame. `proxy`: the address of
    a reverse proxy, which is believed from where requests come and to where (X-Forwarded-For, X-Forwarded-Prefix);
    nobody else is. `prefix`: the path below which visitors find the dashboard. Raises BadInput where the port can't be
    had or the store can't be opened."""
    check_port(host, port)
    raise_limits()  # each connection of a learner is an open file
    with Store.open() as store:
        log = RotatingFileHandler(config.home() / "dashboard.log", maxBytes=LARGEST_LOG, backupCount=1)
        logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(message)s", handlers=[log])
        server = uvicorn.Server(configuration(build(store, port, framed_by, prefix, proxy), host, port))
        # Streamlit imports pandas when it draws the first page: a visitor would wait for it, and plotly fails in
        # other threads while it is half there.
        import_module("pandas")
        address.tell(store, host, port, prefix)
        server.run()


def configuration(app: Any, host: str, port: int) -> uvicorn.Config:
    """How the server serves; see `serve`."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]  # open files; below 0: any number
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        access_log=False,  # addresses may hold tokens
        log_config=None,  # its records go where ours go
        log_level="warning",
        http="h11",  # refuses long heads
        ws="websockets-sansio",
        ws_max_size=LARGEST_MESSAGE,
        ws_per_message_deflate=False,  # packed again for every viewer, it would cost more than it saves
        limit_concurrency=most // 2 if most > 0 else None,  # the rest is for what is opened otherwise
        timeout_graceful_shutdown=GRACE,
        timeout_keep_alive=30,  # a watching browser asks for the next picture within that
        server_header=False,
        proxy_headers=False,  # see `behind`
        lifespan="on",
    )


FOR_EVER = "private, max-age=31536000, immutable"
INLINE = ("image/png", "image/jpeg", "text/plain", "application/json")
# What a browser shows of an artifact can neither run scripts nor reach anything.
SEALED = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
PRESSED = (".js", ".css", ".svg")


def artifact_routes(store: Store) -> list[BaseRoute]:
    def artifact(request: Request) -> Response:
        try:
            run = store.run(request.path_params["run"])  # addresses may hold numbers that no run can have
            stored_artifact = store.artifact(run.id, request.path_params["name"])
        except BadInput as error:
            return PlainTextResponse(str(error), 404)
        headers = {
            # An address with a version, see `Snapshot.url`, names just this content.
            "cache-control": FOR_EVER
            if request.query_params.get("v") == stored_artifact.sha256[:16]
            else "private, no-cache",
            "content-security-policy": SEALED,
        }
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
        # Browsers ask anew for the scripts of quizzes, so that those of different versions are never mixed.
        age = "no-cache" if name.startswith("quiz/") else "max-age=86400"
        etag = f'"{path.stat().st_mtime_ns}"'
        headers = {"cache-control": f"public, {age}", "vary": "accept-encoding", "etag": etag}
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers=headers)
        press = name.endswith(PRESSED) and "gzip" in request.headers.get("accept-encoding", "")
        data = _read(path, press)
        if press:
            headers["content-encoding"] = "gzip"
        return Response(data, media_type=kind, headers=headers)

    return [Route("/artifact/{run:int}/{name:path}", artifact), Route("/assets/{name:path}", asset)]


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
    here = Path(__file__).parent
    own_files = {path.name: path for path in (here / "static").iterdir()}
    own_files |= {f"quiz/{path.name}": path for path in (here / "quiz" / "static").iterdir()}
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


def main() -> None:
    """Serve the dashboard."""
    parser = argparse.ArgumentParser(prog="python -m workshop.web.server", description=main.__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=8501)
    parser.add_argument("--framed-by", default="", help="origins whose pages may show these in a frame")
    parser.add_argument("--proxy", default="", help="address of a reverse proxy that tells from where requests come")
    parser.add_argument("--prefix", default="", help="path below which visitors find the dashboard")
    options = parser.parse_args()
    try:
        serve(options.host, options.port, options.framed_by, options.proxy, options.prefix)
    except WorkshopError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
