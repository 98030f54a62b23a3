"""The WebSockets of live pages: /live/run/ID, /live/session/NAME and, for the instructor, /live/class."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from workshop.core.errors import BadInput, WorkshopError
from workshop.course.class_progress import Classroom
from workshop.report.run_sections import RunLook, SessionLook, moment
from workshop.report.sentences import dumps
from workshop.server import class_sections, limits, roster, worker_gate
from workshop.server.actions import only_instructor
from workshop.server.class_sections import ClassLook, LearnerLook
from workshop.server.limits import TooManyRequests
from workshop.server.push import Hub, LiveSource, Topic
from workshop.store.store import Store


def routes(store: Store) -> list[BaseRoute]:
    hub, room = Hub(), Classroom(store)

    async def watch(
        websocket: WebSocket, find: Callable[[], object], key: tuple[str, object], make_look: Callable[[], LiveSource]
    ) -> None:
        """Push a topic's sections. A topic that `find` doesn't know (BadInput) gets no poller: anybody could ask for
        any name."""
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

    async def classroom(websocket: WebSocket) -> None:
        identity, name = websocket.state.identity, websocket.query_params.get("learner", "")
        if name:
            await watch(
                websocket, lambda: only_instructor(identity), ("learner", name), lambda: LearnerLook(room, name)
            )
        else:
            await watch(websocket, lambda: only_instructor(identity), ("class", ""), lambda: ClassLook(room))

    async def replay(request: Request) -> Response:
        who = limits.shared().who(request.state.identity)
        try:
            text = await worker_gate.gate().do(who, lambda: moment(store, *request.path_params.values()))
        except TooManyRequests as error:
            return PlainTextResponse(str(error), 429)
        except BadInput as error:
            return PlainTextResponse(str(error), 404)
        return Response(text, media_type="application/json", headers={"cache-control": "no-store"})

    def table(name: str, write: Callable[[], bytes]) -> Route:
        async def respond(request: Request) -> Response:
            try:
                only_instructor(request.state.identity)
                data = await run_in_threadpool(write)
            except WorkshopError as error:
                return PlainTextResponse(str(error), 403 if isinstance(error, BadInput) else 500)
            headers = {"content-disposition": f"attachment; filename={name}", "cache-control": "no-store"}
            return Response(data, media_type="text/csv; charset=utf-8", headers=headers)

        return Route(f"/live/{name}", respond)

    return [
        WebSocketRoute("/live/run/{id:int}", run),
        Route("/live/run/{id:int}/moment/{number:int}", replay),
        WebSocketRoute("/live/session/{name}", session),
        WebSocketRoute("/live/class", classroom),
        table("class.csv", lambda: class_sections.write_csv(room.look())),
        table("roster.csv", lambda: roster.write_csv(roster.read(store, room.look(), time.time()), time.time())),
    ]


async def _serve(websocket: WebSocket, topic: Topic) -> None:
    """Keep a viewer on the line until it leaves: pages come again at once when the line is closed."""
    await websocket.accept()
    sender = asyncio.create_task(_send(websocket, topic))
    try:
        # Viewers say nothing that is read; receiving is how one learns that they are gone.
        while (await websocket.receive())["type"] != "websocket.disconnect":
            pass
    finally:
        sender.cancel()
        with suppress(asyncio.CancelledError):
            await sender


async def _send(websocket: WebSocket, topic: Topic) -> None:
    """Send new data as soon as the viewer has received the last ones. Ends when the viewer is gone."""
    version = 0
    with suppress(WebSocketDisconnect, RuntimeError):  # RuntimeError: Starlette's word for sending after the close
        while True:
            await topic.wait(version)
            message, version = topic.message(version), topic.version
            await websocket.send_text(message)
