"""What an honest learner and the instructor wait for while a class moves sliders, or while one of it misbehaves."""

from __future__ import annotations

import asyncio
import http.client
import statistics
import time
from collections.abc import Awaitable
from contextlib import suppress
from urllib.parse import urlencode

import psutil
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection

from benchmarks import Row
from benchmarks.dashboard import HOST, joined
from workshop.core.errors import WorkshopError

STREAM = "_stcore/stream"  # Streamlit's WebSocket
SECONDS = 15.0  # for which each crowd is there
PAUSE = 0.5  # seconds between two looks of the honest ones
CLASS, PAGES = 40, 38  # learners who move sliders; pages of the one who misbehaves
MEMBERS = 60  # members of the class of whom one misbehaves


def rows(server: psutil.Process, port: int, token: str, code: str) -> list[Row]:
    """The longest and the median seconds of both crowds, and the server's memory after them."""
    found: list[Row] = []
    for crowd, pages, persons, guesses in (("sliders", CLASS, CLASS, 0), ("misbehaving", PAGES, 1, 10)):
        members = [_join(port, code, f"{crowd} {number}") for number in range(persons)]
        if persons == 1:
            members += [_join(port, code, f"member {number}") for number in range(MEMBERS - 1)]
        times = asyncio.run(_times(port, token, code, [members[n % persons] for n in range(pages)], guesses, crowd))
        for what, seconds in times.items():
            values = {"median": statistics.median(seconds), "max": max(seconds)}
            found += [
                {"name": f"{crowd}_{what}_{how}_seconds", "value": value, "unit": "s"} for how, value in values.items()
            ]
    return [*found, {"name": "server_megabytes", "value": server.memory_info().rss / 1e6, "unit": "MB"}]


def _join(port: int, code: str, name: str) -> str:
    return joined(port, "/join", urlencode({"code": code, "nickname": name}), name)[0]


async def _times(
    port: int, token: str, code: str, pages: list[str], guesses: int, crowd: str
) -> dict[str, list[float]]:
    """The seconds that joins, a new learner's page and the instructor's page take while `pages`, a cookie each, redraw
    and so many `guesses` at a time look for the code."""
    instructor = await asyncio.to_thread(_instructor, port, token)
    here = asyncio.Barrier(len(pages) + 1)
    tasks = [asyncio.create_task(_redraw(port, cookie, here)) for cookie in pages]
    await here.wait()
    tasks += [asyncio.create_task(_guess(port)) for _ in range(guesses)]
    times: dict[str, list[float]] = {"join": [], "page": [], "instructor": []}
    end, number = time.monotonic() + SECONDS, 0
    try:
        while time.monotonic() < end:
            number += 1
            cookie = await _timed(times["join"], asyncio.to_thread(_join, port, code, f"honest {crowd} {number}"))
            await _timed(times["page"], _page(port, cookie, "home"))
            await _timed(times["instructor"], _page(port, instructor, "home"))
            await asyncio.sleep(PAUSE)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return times


async def _timed(into: list[float], done: Awaitable[str]) -> str:
    began = time.perf_counter()
    result = await done
    into.append(time.perf_counter() - began)
    return result


def _instructor(port: int, token: str) -> str:
    line = http.client.HTTPConnection(HOST, port, timeout=60)
    line.request("GET", f"/?token={token}")
    cookie = (line.getresponse().getheader("set-cookie") or "").partition(";")[0]
    line.close()
    return cookie


def connected(port: int, cookie: str, path: str) -> websockets.connect:
    """A visitor's WebSocket."""
    return websockets.connect(
        f"ws://{HOST}:{port}/{path}",
        subprotocols=["streamlit"] if path == STREAM else None,
        additional_headers={"Cookie": cookie},
        origin=f"http://{HOST}:{port}",
        max_size=None,
        compression=None,
    )


async def draw(page: ClientConnection, name: str, query: str = "") -> None:
    """Have Streamlit draw a page, and receive everything that it sends."""
    ask = BackMsg()
    ask.rerun_script.query_string, ask.rerun_script.page_name = query, name
    await page.send(ask.SerializeToString())
    async for message in page:
        if isinstance(message, bytes) and ForwardMsg.FromString(message).WhichOneof("type") == "script_finished":
            return


async def _page(port: int, cookie: str, name: str) -> str:
    async with connected(port, cookie, STREAM) as page:
        await draw(page, name)
    return name


async def _redraw(port: int, cookie: str, here: asyncio.Barrier) -> None:
    """Draw a page without pause, once all others have theirs."""
    async with connected(port, cookie, STREAM) as page:
        await draw(page, "placement")
        await here.wait()
        while True:
            await draw(page, "placement")


async def _guess(port: int) -> None:
    for number in range(1_000_000):
        with suppress(WorkshopError):  # it is wrong
            await asyncio.to_thread(_join, port, f"X{number:05}", "Guest")
