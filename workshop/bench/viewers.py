"""How soon many viewers of one live run see a change, and what that costs the dashboard's server.

A real session runs a paced k-means on a photo; every viewer does what a browser does. The delay of a change is from
when a rank told it to when a viewer has it, so that every hop on the way counts.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import psutil

from workshop import bench
from workshop.bench.browser import Browser
from workshop.bench.state import own_state
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
        session, conductor = lifecycle.start_session(
            store, "viewers", Placement(ranks=2), limits=Limits(), attached=True
        )
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
