"""Streamlit's page at the addresses of our pages, with something to show before its scripts have drawn anything, which
takes seconds. Any other address is a 404, where Streamlit would send its page, too."""

from __future__ import annotations

from importlib.resources import files

from starlette.convertors import StringConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from workshop import registry
from workshop.report.figures import theme
from workshop.web import templates


class _Unknown(StringConvertor):
    """Any path but those below which Streamlit has files and routes, and those that it sends on without their slash."""

    regex = r"(?!(?:_stcore|static|media|component)/|favicon\.png$|manifest\.json$).*[^/]"


def routes() -> list[BaseRoute]:
    """They come last, since the last one takes all that is left."""
    register_url_convertor("unknown", _Unknown())
    index = (files("streamlit") / "static" / "index.html").read_text(encoding="utf-8")
    page = index.replace("</head>", f"{templates.render('loading', theme=theme)}</head>", 1)

    def show(request: Request) -> Response:
        return HTMLResponse(page, headers={"cache-control": "no-cache"})

    def lost(request: Request) -> Response:
        words, link = "There is no page at this address.", ("/", "Go to the first page")
        return templates.page("plain", 404, title="No such page", words=words, link=link)

    return [
        Route("/home", lambda _: RedirectResponse("/")),  # which Streamlit only knows as the first page
        *(Route(path, show) for path in ("/", *(f"/{page.name}" for page in registry.pages()))),
        Route("/{path:unknown}", lost),
    ]
