"""The WebSockets of live pages: /live/run/ID, /live/session/NAME and, for the instructor, /live/class.

Each watched thing has one poller (`Hub`), whose sections go to all its viewers.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import lru_cache, partial
from typing import get_args

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from workshop.core.errors import BadInput, WorkshopError
from workshop.course.class_progress import Classroom, grades
from workshop.quiz.results.spreadsheets import Kind
from workshop.report.run_sections import RunLook, SessionLook, moment
from workshop.report.sentences import dumps
from workshop.store.store import Store
from workshop.web import class_sections
from workshop.web.actions import only_instructor
from workshop.web.class_sections import ClassLook

MOST_MOMENTS = 128  # of ended runs that are kept for the next one who asks
SHARE = 0.25  # of the time that one poller may keep a thread and the database busy

log = logging.getLogger(__name__)


# Each reads one thing from the store, in a worker thread and never twice at a time. A call returns sections that may
# have changed, as JSON; `every` has the seconds until the next look.
LiveSource = RunLook | SessionLook | ClassLook


class Topic:
    """The newest sections of one watched thing: pieces of JSON under names. A viewer that has just come gets all of
    them, later only those that have changed since its last message; a slow viewer skips what was overtaken. Belongs to
    the event loop."""

    def __init__(self) -> None:
        self.version = 0
        self.viewers = 0
        self._sections: dict[str, tuple[int, str]] = {}  # name -> version of its last change, JSON
        self._messages: dict[int, str] = {}  # by the version that a viewer has
        self._changed = asyncio.Event()

    def update(self, sections: Mapping[str, str]) -> None:
        """Store sections, and wake waiting viewers if a section is new."""
        texts = {name: text for name, (_, text) in self._sections.items()}
        changed = {name: text for name, text in sections.items() if texts.get(name) != text}
        if not changed:
            return
        self.version += 1
        self._sections |= {name: (self.version, text) for name, text in changed.items()}
        self._messages = {}
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait(self, version: int) -> None:
        """Wait until there is something newer than `version`."""
        while self.version <= version:
            await self._changed.wait()

    def message(self, version: int) -> str:
        """The changes since `version` as one JSON object, made once for all viewers with that version."""
        if version not in self._messages:
            news = [f"{dumps(name)}:{text}" for name, (at, text) in self._sections.items() if at > version]
            self._messages[version] = f'{{"version":{self.version},"sections":{{{",".join(news)}}}}}'
        return self._messages[version]


class Hub:
    """The watched topics; a topic's poller lives as long as it has viewers."""

    def __init__(self) -> None:
        self._topics: dict[Hashable, tuple[Topic, asyncio.Task[None]]] = {}

    @asynccontextmanager
    async def watch(self, key: Hashable, make_look: Callable[[], LiveSource]) -> AsyncIterator[Topic]:
        """Watch something for as long as the block lasts; `make_look` is only called for its first viewer."""
        if key not in self._topics:
            topic = Topic()
            self._topics[key] = topic, asyncio.create_task(_poll(topic, make_look()), name=f"poll {key}")
        topic, poller = self._topics[key]
        topic.viewers += 1
        try:
            yield topic
        finally:
            topic.viewers -= 1
            if topic.viewers == 0:
                del self._topics[key]
                poller.cancel()
                with suppress(asyncio.CancelledError):
                    await poller


async def _poll(topic: Topic, look: LiveSource) -> None:
    clock = asyncio.get_running_loop().time
    while True:
        began = clock()
        try:
            topic.update(await asyncio.to_thread(look))
        except WorkshopError as error:
            topic.update({"problem": dumps(str(error))})
        except Exception:
            # A page that stops updating is worse than a gap in it; the log says what happened.
            log.exception("could not look at what is watched")
            topic.update({"problem": dumps("The dashboard could not read this; its log says why.")})
        else:
            topic.update({"problem": "null"})
        spent = clock() - began
        await asyncio.sleep(max(look.every - spent, spent / SHARE - spent, 0.02))


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
        identity = websocket.state.identity
        await watch(websocket, lambda: only_instructor(identity), ("class", ""), partial(ClassLook, room))

    moment_of = lru_cache(MOST_MOMENTS)(partial(moment, store))  # a class that replays a run asks for the same ones

    def replay(request: Request) -> Response:
        try:
            text = moment_of(*request.path_params.values())
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

    def grades_as(kind: Kind) -> bytes:
        return grades(room.look()).write(kind)

    return [
        WebSocketRoute("/live/run/{id:int}", run),
        Route("/live/run/{id:int}/moment/{number:int}", replay),
        WebSocketRoute("/live/session/{name}", session),
        WebSocketRoute("/live/class", classroom),
        table("class.csv", lambda: class_sections.write_csv(room.look())),
        table("roster.csv", lambda: class_sections.write_roster(store, room.look(), time.time())),
        *(table(f"labs.grades-{kind}.csv", partial(grades_as, kind)) for kind in get_args(Kind)),
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
