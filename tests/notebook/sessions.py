"""A real session for the tests of a module, and what a kernel has said."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from tests.conftest import leftovers
from tests.notebook.kernel import Kernel
from tests.support import limit, until
from workshop.core.placement import Placement
from workshop.sessions import lifecycle
from workshop.store.records import RunRecord, SessionRecord
from workshop.store.store import Store

PLOTLY = "application/vnd.plotly.v1+json"
DASHBOARD = "http://127.0.0.1:8501"  # as notebooks are told; nobody is there
WORK = "data='blobs', points=2000, clusters=3, iterations=4, backend='numpy'"


@contextmanager
def state(folder: Path) -> Iterator[Path]:
    """A state folder for a module, as `workshop_home` is one for a test; nothing may outlive it."""
    home = folder / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKSHOP_HOME", str(home))
        patch.setenv("WORKSHOP_OFFLINE", "1")
        patch.setenv("KERAS_HOME", str(folder / "keras"))
        for name in ("WORKSHOP_DATABASE_URL", "WORKSHOP_DATA", "WORKSHOP_LEARNER", "JUPYTERHUB_USER"):
            patch.delenv(name, raising=False)
        yield home
    left = leftovers(home)
    for process in left:
        with suppress(psutil.Error):  # it has ended just now
            process.kill()
    assert not left, f"processes were left behind: {left}"


@contextmanager
def running(store: Store, name: str = "class", ranks: int = 2) -> Iterator[SessionRecord]:
    """A shared session that is up."""
    record, conductor = lifecycle.start_session(store, name, Placement(ranks=ranks))
    try:
        yield lifecycle.wait_ready(store, record, conductor)
    finally:
        lifecycle.stop_session(store, name)
        conductor.wait(limit(60))


def ended(home: Path) -> None:
    """Wait until all processes of a state folder have ended: kernels of tests are killed, what they have started ends
    a moment later."""
    until(lambda: not leftovers(home), 30, "all processes to end")


def shown(notebook: Kernel, since: int = 0) -> list[str]:
    """The texts of all displays, also of those that were written anew."""
    return [data.get("text/plain", "") for data in displays(notebook, since)]


def displays(notebook: Kernel, since: int = 0) -> list[dict[str, str]]:
    kinds = ("display_data", "update_display_data", "execute_result")
    messages = [json.loads(message) for message in notebook.sent[since:]]
    return [message["content"]["data"] for message in messages if message["msg_type"] in kinds]


def going(store: Store, newer_than: int = 0) -> RunRecord:
    """The newest run, once its ranks have told something."""

    def there() -> RunRecord | None:
        newest = next(iter(store.runs(limit=1)), None)
        if newest is None or newest.id <= newer_than or not store.last_event_id(newest.id):
            return None
        return store.run(newest.id)  # as it is now: what was read before it had told something may lack its ranks

    found = until(there, 90, "a run that tells something")
    assert found is not None
    return found


@contextmanager
def meanwhile(notebook: Kernel, code: str) -> Iterator[list[str]]:
    """A cell that is run while the block is; what it has said is in the list behind the block."""
    said: list[str] = []
    cell = threading.Thread(target=lambda: said.append(notebook.run(code)))
    cell.start()
    try:
        yield said
    finally:
        cell.join(limit(120))
        assert not cell.is_alive(), "the cell has not ended"


@contextmanager
def patient(notebook: Kernel) -> Iterator[None]:
    """While the block is, ranks that are interrupted have a minute for their end before they are replaced."""
    names = "from workshop.notebook import ranks as _cells, call_monitor as _watching\n_soon = _watching.DEAF\n"
    assert notebook.run(f"{names}_cells.DEAF = _watching.DEAF = 60") == ""
    try:
        yield
    finally:
        notebook.run("_cells.DEAF = _watching.DEAF = _soon")


def process_of(notebook: Kernel) -> int:
    return int(notebook.run("import os\nos.getpid()"))


def press_stop(pid: int) -> None:
    """What JupyterLab's stop button does."""
    os.kill(pid, signal.SIGINT)
