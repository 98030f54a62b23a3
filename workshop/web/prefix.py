"""A dashboard below a path of its host, such as /node/n1/8501 behind Open OnDemand or /user/ada/proxy/8501 behind
JupyterHub.

Our pages, scripts and answers name each other by addresses that are relative to the page that names them, and a cookie
holds for the folder of the page that sets it. So a proxy that strips the prefix needs to tell us nothing, and one that
passes the whole path needs `--prefix`, or tells the prefix in X-Forwarded-Prefix. One that sends its own name for us
as Host tells the visitor's in X-Forwarded-Host, as Open OnDemand's Apache does.
"""

from __future__ import annotations

import re
from contextvars import ContextVar

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from workshop.core.errors import BadInput

_PREFIX = re.compile(r"(/[A-Za-z0-9._~@+-]+)+")
_root: ContextVar[str] = ContextVar("root", default="./")
_place: ContextVar[str] = ContextVar("place", default="")  # the prefix of the request


def checked(prefix: str) -> str:
    """A prefix without its last slash; "" for none. Raises BadInput."""
    plain = prefix.rstrip("/")
    if plain and (not _PREFIX.fullmatch(plain) or {".", ".."} & set(plain.split("/"))):
        raise BadInput(
            f"--prefix is {prefix[:80]!r}; it should be a path like /node/n1/8501, of letters, digits and . _ ~ @ + -"
        )
    return plain


def root() -> str:
    """The address of the first page, relative to the page that is being served."""
    return _root.get()


def behind(prefix: str, proxy: str) -> list[Middleware]:
    """The middlewares that take the prefix away, and believe `proxy` from where requests come. Without a proxy, anybody
    who reaches loopback could come from as many addresses as they like."""
    believed = [Middleware(ProxyHeadersMiddleware, trusted_hosts=proxy)] if proxy else []
    return [Middleware(PrefixMiddleware, prefix=prefix, proxy=proxy), *believed]


def base(request: Request) -> str:
    """The dashboard's address, with its prefix, as the visitor knows it."""
    return f"{request.url.scheme}://{request.url.netloc}{_place.get()}"


class PrefixMiddleware:
    """Takes the prefix from paths, and makes the addresses of redirects relative. The headers X-Forwarded-Prefix, -Host
    and -Proto count where they come from `proxy`, an address; else the prefix is `prefix`, and the rest stays."""

    def __init__(self, app: ASGIApp, prefix: str = "", proxy: str = "") -> None:
        self.app, self.prefix, self.proxy = app, checked(prefix), proxy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        path, prefix = scope["path"], self._prefix(scope)
        hosts = self._header_of_proxy(scope, "x-forwarded-host")
        if host := hosts.rpartition(",")[2].strip():  # the proxy adds its own to what others sent
            headers = [pair for pair in scope["headers"] if pair[0].lower() != b"host"]
            scope = {**scope, "headers": [*headers, (b"host", host.encode("latin-1"))]}
        schemes = self._header_of_proxy(scope, "x-forwarded-proto")  # the browser's is first
        if schemes.partition(",")[0].strip() == "https":
            scope = {**scope, "scheme": {"http": "https", "websocket": "wss"}[scope["type"]]}
        if prefix and path == prefix:  # relative addresses need the slash at its end
            query = scope["query_string"].decode("latin-1")
            address = f"{prefix.rpartition('/')[2]}/{'?' if query else ''}{query}"
            unkept = {"cache-control": "no-store"}  # the address may hold a token
            await RedirectResponse(address, 307, unkept)(scope, receive, send)
            return
        if prefix and path.startswith(f"{prefix}/"):
            path = path[len(prefix) :]
            scope = {**scope, "path": path, "raw_path": scope.get("raw_path", b"")[len(prefix) :]}
        root = "../" * (path.count("/") - 1) or "./"
        _root.set(root)
        _place.set(prefix)

        async def relative(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                location = headers.get("location", "")
                if location.startswith("/") and not location.startswith("//"):
                    headers["location"] = root + location[1:]
            await send(message)

        await self.app(scope, receive, relative)

    def _header_of_proxy(self, scope: Scope, header: str) -> str:
        """The value of a header that the proxy has sent; "" where somebody else has sent it."""
        client = scope.get("client")
        from_proxy = self.proxy and client is not None and client[0] == self.proxy
        return Headers(scope=scope).get(header, "") if from_proxy else ""

    def _prefix(self, scope: Scope) -> str:
        try:
            return checked(self._header_of_proxy(scope, "x-forwarded-prefix")) or self.prefix
        except BadInput:
            return self.prefix
