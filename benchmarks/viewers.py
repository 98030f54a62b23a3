"""How soon many viewers of one live run see a change, and what that costs the dashboard's server.

A real session runs a paced k-means on a photo; every viewer does what a browser does. The delay of a change is from
when a rank told it to when a viewer has it, so that every hop on the way counts.
"""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import psutil
from websockets.asyncio.client import ClientConnection

from benchmarks import Document, Row, crowd, document, machine
from benchmarks.dashboard import HOST, joined, served
from benchmarks.processes import own_state
from workshop.core.errors import WorkshopError
from workshop.core.placement import Placement
from workshop.sessions import client
from workshop.sessions.lifecycle import private_session
from workshop.store.store import Store
from workshop.web.auth import new_secrets

# A change every quarter of a second; so many colours take longer to settle than anybody watches.
PARAMS = {"image": "china", "clusters": 256, "iterations": 10_000, "tolerance": 0, "pace": 0.25}
READY = 120.0  # seconds within which the run has begun, and a page is there


def run(viewers: int = 40, seconds: float = 20.0) -> Document:
    """Let viewers watch one run; returns the document. Raises WorkshopError."""
    where = machine(("streamlit", "uvicorn", "websockets", "plotly"))
    with own_state(), Store.open() as store:
        token, code = new_secrets(store)
        with private_session(store, Placement(ranks=2)) as session, served() as (server, port):
            watched = client.submit(store, session, "kmeans", PARAMS)
            deadline = time.monotonic() + READY
            while len(store.events(watched.id, ["inertia"], limit=2)) < 2:  # the first iteration compiles
                if time.monotonic() > deadline:
                    raise WorkshopError(f"The run that is watched has not begun within {READY:.0f} s.")
                time.sleep(0.1)
            browsers = [Browser(port, code, number) for number in range(viewers)]
            share, since = asyncio.run(_watch(browsers, watched.id, server, seconds))
            if (status := store.run(watched.id).status) != "running":
                raise WorkshopError(f"The run that was watched did not last: it is {status}.")
            client.cancel(store, watched.id)
            crowds = crowd.rows(server, port, token, code)
    return document(where, [*_rows(browsers, share, since, seconds), *crowds])


def _rows(browsers: list[Browser], share: float, since: float, seconds: float) -> list[Row]:
    # What was told before everybody was there belongs to the crowd at the door, not to watching.
    delays = sorted(delay for browser in browsers for sent_at, delay in browser.delays if sent_at >= since)
    pages = [browser.page_seconds for browser in browsers[1:] or browsers]
    if len(delays) < 2:
        raise WorkshopError("The viewers saw no change at all.")
    least = min(sum(sent_at >= since for sent_at, _ in browser.delays) for browser in browsers)
    figures = {
        "viewers": (len(browsers), "browsers"),
        "delay_median_seconds": (statistics.median(delays), "s"),
        "delay_p95_seconds": (delays[int(0.95 * (len(delays) - 1))], "s"),
        "delay_max_seconds": (delays[-1], "s"),
        "changes_seen_by_each": (least, "changes at least"),
        "pictures_fetched": (sum(len(browser.fetched) for browser in browsers), "pictures"),
        "server_core_share": (share, "of one core"),
        "page_median_seconds": (statistics.median(pages), "s, all joining at once"),
        "page_max_seconds": (max(pages), "s, all joining at once"),
        "kilobytes_per_viewer_second": (sum(b.received for b in browsers) / len(browsers) / seconds / 1e3, "kB/s"),
    }
    return [{"name": name, "value": value, "unit": unit} for name, (value, unit) in figures.items()]


class Browser:
    """One viewer. `delays` are (when it was told, seconds until it was here) of every change that it got."""

    def __init__(self, port: int, code: str, number: int) -> None:
        self.port, self.code, self.name = port, code, f"Viewer {number}"
        self.page_seconds, self.received = 0.0, 0  # bytes over the live WebSocket
        self.delays: list[tuple[float, float]] = []
        self.fetched: set[str] = set()  # addresses of pictures

    async def watch(self, run_id: int, arrivals: asyncio.Barrier) -> None:
        """Until cancelled, after all have arrived."""
        began = time.perf_counter()
        form = urlencode({"code": self.code, "nickname": self.name})
        self.cookie, _ = await asyncio.to_thread(joined, self.port, "/join", form, self.name)
        async with crowd.connected(self.port, self.cookie, crowd.STREAM) as page:
            await asyncio.wait_for(crowd.draw(page, "run", f"run={run_id}"), READY)
            await asyncio.to_thread(self._get, "/assets/plotly.min.js")
            self.page_seconds = time.perf_counter() - began
            async with crowd.connected(self.port, self.cookie, f"live/run/{run_id}") as live:
                await asyncio.gather(arrivals.wait(), _drain(page), self._listen(live))

    async def _listen(self, live: ClientConnection) -> None:
        first, fetching = True, None
        async for message in live:
            now = time.time()
            self.received += len(message)
            sections = json.loads(message)["sections"]
            newest = (sections.get("told") or {}).get("newest")
            if newest is not None and not first:
                self.delays.append((newest, now - newest))
            first = False
            html = (sections.get("photo") or {}).get("html", "")
            new = {unescape(url) for url in re.findall(r'<img src="([^"]*)"', html)} - self.fetched
            if new and (fetching is None or fetching.done()):  # later pictures wait for the next change
                self.fetched |= new
                fetching = asyncio.gather(*(asyncio.to_thread(self._get, path) for path in new))

    def _get(self, path: str) -> None:
        headers = {"Cookie": self.cookie, "Accept-Encoding": "gzip"}
        with urlopen(Request(f"http://{HOST}:{self.port}{path}", headers=headers), timeout=30) as answer:
            answer.read()


async def _drain(page: ClientConnection) -> None:
    async for _ in page:
        pass


async def _watch(browsers: list[Browser], run_id: int, server: psutil.Process, seconds: float) -> tuple[float, float]:
    """Have all viewers watch. Returns the server's share of a core meanwhile, and since when all were there."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(len(browsers)))  # requests don't wait for others
    arrivals = asyncio.Barrier(len(browsers) + 1)
    tasks = [asyncio.create_task(browsers[0].watch(run_id, arrivals))]
    waiting = asyncio.create_task(arrivals.wait())
    try:
        while not browsers[0].page_seconds and not tasks[0].done():  # the instructor, who shows the page to everybody
            await asyncio.sleep(0.05)
        tasks += [asyncio.create_task(browser.watch(run_id, arrivals)) for browser in browsers[1:]]
        await asyncio.wait([waiting, *tasks], return_when=asyncio.FIRST_COMPLETED)
        for browser in browsers:
            browser.received = 0
        since, busy = time.time(), sum(server.cpu_times()[:2])
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            await task  # a viewer that ended has failed: say why
        return (sum(server.cpu_times()[:2]) - busy) / (time.time() - since), since
    finally:
        for task in [waiting, *tasks]:
            task.cancel()
        await asyncio.gather(waiting, *tasks, return_exceptions=True)
