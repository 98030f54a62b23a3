"""A browser that watches a live run: it joins, loads the page, listens, and fetches pictures as they change."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from html import unescape
from typing import Any
from urllib.parse import urlencode

import websockets
from websockets.asyncio.client import ClientConnection

from workshop.core.errors import WorkshopError

PAGE_READY = 60.0  # seconds


@dataclass
class Browser:
    """One viewer. `delays` are (when it was told, seconds until it was here) of every change it got."""

    host: str
    port: int
    code: str
    number: int
    page_seconds: float = 0.0
    pictures: int = 0
    received: int = 0  # bytes over the live WebSocket
    delays: list[tuple[float, float]] = field(default_factory=list)
    _fetched: set[str] = field(default_factory=set)  # addresses of pictures
    _cookie: str = ""
    _line: http.client.HTTPConnection | None = None

    async def watch(self, run_id: int, ready: Callable[[], None]) -> None:
        """Until cancelled. Calls `ready` when the page is there and the run is being listened to."""
        began = time.perf_counter()
        await asyncio.to_thread(self._join)
        headers = {"Cookie": self._cookie}
        origin = f"http://{self.host}:{self.port}"
        address = f"ws://{self.host}:{self.port}"
        common = {"additional_headers": headers, "origin": origin, "max_size": None, "compression": None}
        async with websockets.connect(f"{address}/_stcore/stream", subprotocols=["streamlit"], **common) as page:
            await asyncio.wait_for(_run_script(page, run_id), PAGE_READY)
            await asyncio.to_thread(self._get, "/assets/plotly.min.js")
            self.page_seconds = time.perf_counter() - began
            rest = asyncio.create_task(_drain(page))
            try:
                async with websockets.connect(f"{address}/live/run/{run_id}", **common) as line:
                    ready()
                    await self._listen(line)
            finally:
                rest.cancel()

    async def _listen(self, line: ClientConnection) -> None:
        first, fetching = True, None
        async for message in line:
            now = time.time()
            self.received += len(message)
            sections = json.loads(message)["sections"]
            newest = (sections.get("told") or {}).get("newest")
            if newest is not None and not first:
                self.delays.append((newest, now - newest))
            first = False
            new_pictures = _pictures(sections) - self._fetched
            if new_pictures and (fetching is None or fetching.done()):  # later pictures wait for the next change
                self._fetched |= new_pictures
                fetching = asyncio.create_task(asyncio.to_thread(self._fetch, sorted(new_pictures)))

    def _join(self) -> None:
        form = urlencode({"code": self.code, "nickname": f"Viewer {self.number}"})
        self._line = http.client.HTTPConnection(self.host, self.port, timeout=30)
        self._line.request("POST", "/join", form, {"Content-Type": "application/x-www-form-urlencoded"})
        answer = self._line.getresponse()
        answer.read()
        if answer.status != 303:
            raise WorkshopError(f"Viewer {self.number} was not let in: the server answered {answer.status}.")
        self._cookie = (answer.getheader("set-cookie") or "").partition(";")[0]

    def _fetch(self, paths: list[str]) -> None:
        for path in paths:
            self._get(path)
            self.pictures += 1

    def _get(self, path: str) -> bytes:
        assert self._line is not None, "joined before"
        headers = {"Cookie": self._cookie, "Accept-Encoding": "gzip"}
        try:
            self._line.request("GET", path, headers=headers)
            answer = self._line.getresponse()
        except (http.client.RemoteDisconnected, ConnectionError):  # it was idle for too long; it opens again by itself
            self._line.close()
            self._line.request("GET", path, headers=headers)
            answer = self._line.getresponse()
        data = answer.read()
        if answer.status != 200:
            raise WorkshopError(f"The server answered {answer.status} for {path}.")
        return data


def _pictures(sections: Mapping[str, Any]) -> set[str]:
    """The addresses of pictures on the cards that have come."""
    html = (sections.get("photo") or {}).get("html", "")
    return {unescape(url) for url in re.findall(r'<img src="([^"]*)"', html)}


async def _run_script(page: ClientConnection, run_id: int) -> None:
    """Have Streamlit run the run's page, and receive everything that it sends."""
    from streamlit.proto.BackMsg_pb2 import BackMsg
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

    ask = BackMsg()
    ask.rerun_script.query_string = f"run={run_id}"
    ask.rerun_script.page_name = "run"
    await page.send(ask.SerializeToString())
    async for message in page:
        if isinstance(message, bytes) and ForwardMsg.FromString(message).WhichOneof("type") == "script_finished":
            return


async def _drain(page: ClientConnection) -> None:
    with suppress(websockets.ConnectionClosed):
        async for _ in page:
            pass
