"""A session on emulated hosts, which this machine drives through the store that both share."""

from __future__ import annotations

import contextlib
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from workshop.cli.emulation.hosts import EmulatedHosts
from workshop.core import config
from workshop.core.errors import BadInput, WorkshopError
from workshop.sessions import lifecycle
from workshop.store.store import Store

READY = 180.0  # seconds within which the session must be ready
EVERY = 0.5  # seconds between looks whether it has ended by itself


@contextlib.contextmanager
def session_on(hosts: EmulatedHosts, name: str, slots: int) -> Iterator[Callable[[float], None]]:
    """A session with its conductor on the first host, and with so many slots and one rank on each host; yields a
    function that waits until somebody stops it, or it had no run for so many seconds, and raises WorkshopError where it
    ends otherwise. Raises BadInput where the hosts can't reach the store, WorkshopError where the session doesn't
    start."""
    if not config.database_url().startswith("sqlite"):
        raise BadInput(
            "Emulated hosts can't reach a database server of this machine; unset WORKSHOP_DATABASE_URL for them."
        )
    where = ["--hosts", ",".join(f"{host}:{slots}" for host in hosts.names), "--ranks", str(len(hosts.names))]
    placed = ["--map-by", "node", "--bind-to", "none", "--threads", "1"]  # all hosts have the same processors
    start = [str(Path(sys.executable).with_name("workshop")), "session", "start", name, *where, *placed]
    try:
        started = subprocess.run(
            hosts.command(hosts.names[0], start),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env=os.environ | hosts.environment,
            timeout=READY,
        )
    except subprocess.TimeoutExpired:
        raise WorkshopError(f"The session on the emulated hosts was not ready within {READY:.0f} s.") from None
    if started.returncode:
        raise WorkshopError(started.stderr.strip() or f"The session on the hosts ended with {started.returncode}.")
    with Store.open() as store:

        def wait(unused: float = math.inf) -> None:
            used = time.time()
            while (session := store.session(name)).up:
                if any(not run.ended for run in store.runs(session_id=session.id, limit=1)):
                    used = time.time()
                if time.time() - used > unused:
                    return
                time.sleep(EVERY)
            if session.state != "stopped":
                why = session.message if session.state == "failed" else "its conductor was ended"
                raise WorkshopError(f"Session {name} has ended: {why}")

        try:
            yield wait
        finally:
            if store.session(name).up:
                lifecycle.stop_session(store, name)
