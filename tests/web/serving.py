"""Routes behind the real door, served on a free port by a thread of the test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from tests.support import limit, until
from workshop.core.ports import free_port
from workshop.store.store import Store
from workshop.web.auth_middleware import AuthMiddleware
from workshop.web.prefix import behind


@contextmanager
def served(store: Store, routes: Callable[[int], Sequence[BaseRoute]]) -> Iterator[int]:
    """The port; `routes` makes what is served there."""
    free = free_port()
    middleware = [*behind("", ""), Middleware(AuthMiddleware, store=store, port=free)]
    app = Starlette(routes=[*routes(free)], middleware=middleware)
    server = uvicorn.Server(uvicorn.Config(app, port=free, log_level="error", lifespan="off", ws="websockets-sansio"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started, 20, "the server")
        yield free
    finally:
        server.should_exit = True
        thread.join(limit(20))
    assert not thread.is_alive()
