"""The WebSockets of live pages: /live/run/ID and /live/session/NAME."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from starlette.concurrency import run_in_threadpool
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from workshop.errors import BadInput
from workshop.store.store import Store
from workshop.web.push import Hub, Look, Topic
from workshop.web.run_view import RunLook
from workshop.web.session_view import SessionLook
from workshop.web.words import dumps


def routes(store: Store) -> list[BaseRoute]:
    hub = Hub()

    async def watch(
        websocket: WebSocket, find: Callable[[], object], key: tuple[str, object], make_look: Callable[[], Look]
    ) -> None:
        """Push what there is. What `find` says isn't there (BadInput) gets no poller: anybody could ask for any."""
        try:
            await run_in_threadpool(find)
        except BadInput as error:
            topic = Topic()
            topic.update({"problem": dumps(str(error))})
            await _serve(websocket, topic)
            return
        async with hub.watch(key, make_look) as topic:
            await _serve(websocket, topic)

    async def run(websocket: WebSocket) -> None:
        run_id = websocket.path_params["id"]
        await watch(websocket, lambda: store.run(run_id), ("run", run_id), lambda: RunLook(store, run_id))

    async def session(websocket: WebSocket) -> None:
        name = websocket.path_params["name"]
        await watch(websocket, lambda: store.session(name), ("session", name), lambda: SessionLook(store, name))

    return [WebSocketRoute("/live/run/{id:int}", run), WebSocketRoute("/live/session/{name}", session)]


async def _serve(websocket: WebSocket, topic: Topic) -> None:
    """Keep a viewer on the line until it leaves: pages come again at once when the line is closed."""
    await websocket.accept()
    sender = asyncio.create_task(_send(websocket, topic))
    try:
        # Viewers say nothing; receiving is how one learns that they are gone.
        while True:
            await websocket.receive_text()
    except WebSocketDisconnect:
        pass
    finally:
        sender.cancel()
        with suppress(asyncio.CancelledError):
            await sender


async def _send(websocket: WebSocket, topic: Topic) -> None:
    """Send what is new whenever the viewer has taken what was before. Ends when the viewer is gone."""
    seen = 0
    with suppress(WebSocketDisconnect, RuntimeError):  # RuntimeError: Starlette's word for sending after the close
        while True:
            await topic.wait(seen)
            message, seen = topic.message(seen), topic.version
            await websocket.send_text(message)
