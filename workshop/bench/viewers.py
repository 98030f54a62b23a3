"""How soon many viewers of one live run see a change, and what that costs the dashboard's server.

A real session runs a paced k-means on a photo; every viewer does what a browser does. The delay of a change is from
when a rank told it to when a viewer has it, so that every hop on the way counts.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from html import unescape
from typing import Any
from urllib.parse import urlencode

import psutil
import websockets
from websockets.asyncio.client import ClientConnection

from workshop import bench
from workshop.bench import own_state
from workshop.core import config
from workshop.core.errors import WorkshopError
from workshop.core.parent_death import guarded
from workshop.core.placement import Placement
from workshop.core.ports import free_port
from workshop.runtime import client, lifecycle
from workshop.server import limits
from workshop.server.auth import new_secrets
from workshop.store.records import Limits
from workshop.store.store import Store

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


PACE = 0.25  # seconds between changes
# So many colours take longer to settle than anybody watches.
PARAMS = {"image": "china", "clusters": 256, "iterations": 10_000, "tolerance": 0, "pace": PACE}
SERVER_READY = 60.0  # seconds
COMPILED = 120.0  # seconds within which a run must have begun
HOST = "127.0.0.1"


def run(viewers: int = 40, seconds: float = 20) -> dict[str, Any]:
    """Let `viewers` watch one run for `seconds`; returns the bench as JSON. Raises WorkshopError."""
    where = bench.machine(("streamlit", "uvicorn", "websockets", "plotly"))
    with own_state(), Store.open() as store:
        _, code = new_secrets(store)
        where_ranks = Placement(ranks=2)
        session, conductor = lifecycle.start_session(store, "viewers", where_ranks, limits=Limits(), attached=True)
        try:
            with served() as (server, port):
                session = lifecycle.wait_ready(store, session, conductor)
                watched = client.submit(store, session, "kmeans", PARAMS)
                _begun(store, watched.id)
                browsers = [Browser(HOST, port, code, number) for number in range(viewers)]
                share, since = asyncio.run(_watch(browsers, watched.id, server, seconds))
                status = store.run(watched.id).status
        finally:
            lifecycle.end_conductor(conductor)
    if status != "running":
        raise WorkshopError(f"The run that was watched did not last: it is {status}.")
    return bench.document("viewers", where, _rows(browsers, share, since, seconds), {})


def _begun(store: Store, run_id: int) -> None:
    """Wait until the run iterates: its first iteration compiles. Raises WorkshopError."""
    deadline = time.monotonic() + COMPILED
    while len(store.events(run_id, ["inertia"], limit=2)) < 2:
        if time.monotonic() > deadline:
            raise WorkshopError(f"The run that is watched has not begun within {COMPILED:.0f} s.")
        time.sleep(0.1)


def _rows(browsers: list[Browser], share: float, since: float, seconds: float) -> list[dict[str, Any]]:
    # What was told before everybody was there belongs to the crowd at the door, not to watching.
    delays = sorted(delay for browser in browsers for sent_at, delay in browser.delays if sent_at >= since)
    pages = [browser.page_seconds for browser in browsers[1:] or browsers]
    if len(delays) < 2:
        raise WorkshopError("The viewers saw no change at all.")

    def single(name: str, value: float, unit: str) -> dict[str, Any]:
        return {"name": name, "value": value, "unit": unit}

    least = min(sum(sent_at >= since for sent_at, _ in browser.delays) for browser in browsers)
    return [
        single("viewers", len(browsers), "browsers"),
        single("delay_median_seconds", statistics.median(delays), "s"),
        single("delay_p95_seconds", delays[int(0.95 * (len(delays) - 1))], "s"),
        single("delay_max_seconds", delays[-1], "s"),
        single("changes_seen_by_each", least, "changes at least"),
        single("pictures_fetched", sum(browser.pictures for browser in browsers), "pictures"),
        single("server_core_share", share, "of one core"),
        single("page_median_seconds", statistics.median(pages), "s, all joining at once"),
        single("page_max_seconds", max(pages), "s, all joining at once"),
        single(
            "kilobytes_per_viewer_second", sum(b.received for b in browsers) / len(browsers) / seconds / 1e3, "kB/s"
        ),
    ]


async def _watch(browsers: list[Browser], run_id: int, server: psutil.Process, seconds: float) -> tuple[float, float]:
    """Have all viewers watch. Returns the server's share of a core meanwhile, and the time when all viewers were
    there."""
    # Requests of one browser don't wait for those of others.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(len(browsers)))
    arrivals = asyncio.Semaphore(0)
    first, *others = browsers  # the first is the instructor's, who has shown the page to everybody
    tasks = [asyncio.create_task(first.watch(run_id, arrivals.release))]
    arrived = asyncio.gather(*(arrivals.acquire() for _ in browsers))
    try:
        while not first.page_seconds and not tasks[0].done():
            await asyncio.sleep(0.05)
        tasks += [asyncio.create_task(browser.watch(run_id, arrivals.release)) for browser in others]
        await asyncio.wait([arrived, *tasks], return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done():
                await task  # a viewer that ended failed; say why
        for browser in browsers:
            browser.received = 0
        since, busy = time.time(), _cpu_seconds(server)
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done():
                await task
        return (_cpu_seconds(server) - busy) / (time.time() - since), since
    finally:
        for task in [arrived, *tasks]:
            task.cancel()
        await asyncio.gather(arrived, *tasks, return_exceptions=True)


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


@contextmanager
def served(port: int | None = None, per_address: int = 1, proxy: str = "") -> Iterator[tuple[psutil.Process, int]]:
    """Start a dashboard process, and return it with its port (default: a free one). One address may open `per_address`
    times as many connections as usual, because all viewers have the same address; `proxy` is believed from where they
    come. Raises WorkshopError when the dashboard doesn't answer."""
    if port is None:
        port = free_port()
    command = guarded([sys.executable, "-m", "workshop.server", "--host", HOST, "--port", str(port), "--proxy", proxy])
    with open(config.home() / "dashboard.log", "ab") as log:
        quiet = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
        env = {**os.environ, limits.FACTOR: str(per_address)}
        server = subprocess.Popen(command, **quiet, env=env, start_new_session=True)
    try:
        deadline = time.monotonic() + SERVER_READY
        while True:
            with suppress(OSError), urllib.request.urlopen(f"http://{HOST}:{port}/join", timeout=5):
                break
            if server.poll() is not None or time.monotonic() > deadline:
                log_lines = (config.home() / "dashboard.log").read_text(errors="replace").strip().splitlines()
                raise WorkshopError(f"The dashboard did not start: {log_lines[-1] if log_lines else 'it said nothing'}")
            time.sleep(0.1)
        yield psutil.Process(server.pid), port
    finally:
        server.terminate()
        try:
            server.wait(5)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
