"""Starts and stops sessions, and cleans up after sessions whose conductor was killed.

`begin_run` is a run in a session of its own that goes on when the command has ended, and ends with its run.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from workshop.core import config, disk, environment, processes, topology
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.patience import patient
from workshop.core.placement import Placement
from workshop.mpi import REFUSES
from workshop.registry import workload
from workshop.sessions import client, leftovers
from workshop.sessions.launchers import site
from workshop.store.records import Limits, RunRecord, SessionRecord, SessionState
from workshop.store.sessions import refuse_in
from workshop.store.store import Store

READY = 150.0  # seconds within which a session must be ready: ranks that were late are started twice
STOPPED = 20.0  # seconds within which it must have stopped
END = signal.SIGUSR1  # what conductors take for their owner's word that the session should end


def _conductor(
    session_id: int, *, attached: bool, until_idle: bool = False, cells: bool = False
) -> subprocess.Popen[bytes]:
    """Start a conductor that ends with this process (`attached`), with the `workshop up` that this process is under,
    when no run waits any longer (`until_idle`), or when it is stopped. Its ranks are for `cells`, or for runs. A
    terminal's Ctrl-C doesn't reach it."""
    command = [sys.executable, "-P", "-m", "workshop.sessions.conductor", str(session_id)]
    if owner := str(os.getpid()) if attached else os.environ.get(processes.UP_TAG):
        command += ["--owner", owner]
    if until_idle:
        command += ["--until-idle"]
    if cells:
        command += ["--cells"]
    with open(config.session_folder(session_id) / "conductor.log", "ab") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=environment.own_environment() | {processes.TAG: processes.session_tag(session_id)},
            cwd=environment.own_folder(),
        )


def start_session(
    store: Store,
    name: str,
    placement: Placement,
    *,
    limits: Limits | None = None,
    private: bool = False,
    attached: bool = False,
    until_idle: bool = False,
    cells: bool = False,
    at: Mapping[str, Any] = site.LOCAL,
) -> tuple[SessionRecord, subprocess.Popen[bytes]]:
    """Launch a session; returns at once, `wait_ready` waits. A session whose conductor was killed is started again.

    `attached` sessions end with this process, `until_idle` ones when they are up and no run waits; the ranks of one for
    `cells` take no runs; `at` is the site, see `workshop.sessions.launchers.site`. Raises BadInput where the session
    runs already or the placement can't, and NoRoom.
    """
    refuse_in(store.database)
    disk.check(config.home(), "a session")
    site.check(at, placement)
    config.memory_limit()  # which the conductor will want to know
    existing = next((session for session in store.sessions() if session.name == name), None)
    if existing is not None and existing.state == "lost":
        clean_up(store, existing, state="failed")  # its queue goes on
    session = store.create_session(
        name, placement.as_json(), limits or Limits(), private=private, machine=topology.machine(), site=at
    )
    return session, _conductor(session.id, attached=attached, until_idle=until_idle, cells=cells)


def revive(store: Store, session: SessionRecord, *, attached: bool) -> subprocess.Popen[bytes]:
    """Start a new conductor for a session whose conductor has died; its queue goes on. Raises NoRoom."""
    disk.check(config.home(), "a session")
    clean_up(store, session, state="starting")
    return _conductor(session.id, attached=attached)


def wait_ready(
    store: Store,
    session: SessionRecord,
    conductor: subprocess.Popen[bytes],
    give_up: Callable[[], bool] = lambda: False,
    on_look: Callable[[SessionRecord], None] = lambda _: None,
) -> SessionRecord:
    """Wait until a launched session takes runs. Raises WorkshopError with the reason where it doesn't come up; a
    session that nobody waits for any longer is ended. Where its site has a queue, `READY` counts from when it should
    be through that."""
    queue = session.site.get("wait", 0.0)
    began = time.monotonic()
    try:
        while conductor.poll() is None:
            now = store.session(session.id)
            on_look(now)
            if now.state in ("ready", "running"):
                return now
            if time.monotonic() - began > (limit := queue + patient(READY)):
                raise WorkshopError(f"Session {session.name} was not ready within {limit:.0f} s: {now.message}")
            if give_up():
                raise WorkshopError(f"Session {session.name} was asked to end before it was ready.")
            time.sleep(0.05)
    except BaseException:
        end_conductor(conductor)
        clean_up(store, session)
        raise
    now = store.session(session.id)
    why = now.message or _last_line(session.id) or "its conductor ended without a word"
    if now.state not in ("failed", "stopped"):
        store.update_session(session.id, state="failed", message=why)
    kind = BadInput if REFUSES in why.partition("\n")[0] else WorkshopError
    raise kind(f"Session {session.name} did not start: {why}")


def saying(say: Callable[[str], None]) -> Callable[[SessionRecord], None]:
    """Says the state of a session that starts, whenever it changes."""
    last = ""

    def look(session: SessionRecord) -> None:
        nonlocal last
        if session.state == "starting" and session.message not in ("", last):
            last = session.message
            say(f"{last[0].upper()}{last[1:]}")

    return look


def _last_line(session_id: int) -> str:
    lines = (config.session_folder(session_id) / "conductor.log").read_text(errors="replace").splitlines()
    return lines[-1] if lines else ""


def stop_session(store: Store, name: str) -> SessionRecord:
    """End a session and all its processes, also what a dead conductor left. Waits until nothing is left."""
    session = store.session(name)
    store.request_stop(session.id)
    deadline = time.monotonic() + STOPPED
    tag = processes.session_tag(session.id)
    while session.state != "lost" and processes.tagged(processes.TAG, tag) and time.monotonic() < deadline:
        time.sleep(0.1)
    clean_up(store, session)
    return store.session(session.id)


def cancel_queue(store: Store, session_id: int) -> None:
    """Cancel the waiting runs of a session that is stopped."""
    message = "the session was stopped before it was the run's turn"
    error = {"rank": None, "host": None, "type": "SessionStopped", "message": message, "traceback": ""}
    for run in store.queue(session_id):
        store.finish(run.id, "cancelled", error=error)


def clean_up(store: Store, session: SessionRecord, state: SessionState = "stopped") -> None:
    """End and record the processes and runs of a dead conductor. A session that is stopped loses its queue, too."""
    end_left(store, session)
    if state == "stopped":
        cancel_queue(store, session.id)
    store.update_session(session.id, state=state, message="")


def end_left(store: Store, session: SessionRecord) -> None:
    """End what an earlier conductor of a session left behind."""
    processes.end_all(processes.TAG, processes.session_tag(session.id))
    folder = config.session_folder(session.id)
    leftovers.remove(folder)
    leftovers.remove_temporary_files(folder)
    with contextlib.suppress(BadInput):  # its launcher is gone, and nobody else knows what that has taken
        site.open_site(session.site, folder, Placement.parse(session.placement)).clear_up()
    store.interrupt_left(session.id)


def private_name(what: str) -> str:
    """A name for a private session that no other session has. In containers that share a store, processes have the same
    numbers at the same time."""
    return f"{what}-{os.getpid()}-{secrets.token_hex(4)}"


@contextmanager
def private_session(store: Store, placement: Placement, at: Mapping[str, Any] = site.LOCAL) -> Iterator[SessionRecord]:
    """A session of this process's own, that ends with it."""
    session, conductor = start_session(store, private_name("private"), placement, private=True, attached=True, at=at)
    try:
        yield wait_ready(store, session, conductor)
    finally:
        end_conductor(conductor)
        processes.end_all(processes.TAG, processes.session_tag(session.id))  # also where the store can't be asked
        if store.session(session.id).state not in ("stopped", "failed"):  # it was killed, and nobody else comes by
            clean_up(store, session)


def shared_session(store: Store, name: str | None) -> SessionRecord | None:
    """The session of that name, which has to be up; without a name the only shared one that is up, or None.

    Raises BadInput.
    """
    if name:
        named = store.session(name)
        if named.state in ("stopped", "failed"):
            raise BadInput(f"Session {name} is {named.state}; start it first (workshop session start {name}).")
        return named
    up = [s for s in store.sessions() if s.up and not s.private]
    if len(up) > 1:
        raise BadInput(f"Several sessions are up: {', '.join(s.name for s in up)}; choose one with --session.")
    return up[0] if up else None


def newest_session(store: Store) -> SessionRecord:
    """The shared session that was started last and is up. Raises BadInput where there is none."""
    refuse_in(store.database)
    up = [s for s in store.sessions() if s.up and not s.private]
    if not up:
        start = "start one on the dashboard's page Session, or with `workshop session start`"
        raise BadInput(f"No session is up to run in; {start}.")
    return max(up, key=lambda session: session.created_at)


@contextmanager
def session_for(
    store: Store, shared: SessionRecord | None, placement: Placement, at: Mapping[str, Any] = site.LOCAL
) -> Iterator[SessionRecord]:
    """The shared session, or a private one at that site that ends with the block."""
    if shared is not None:
        yield shared
    else:
        with private_session(store, placement, at) as private:
            yield private


def end_conductor(conductor: subprocess.Popen[bytes]) -> None:
    """End a conductor that we started, and with it its session; kill it when it takes too long."""
    conductor.send_signal(END)
    try:
        conductor.wait(STOPPED)
    except subprocess.TimeoutExpired:
        conductor.kill()
        conductor.wait()


def begin_run(
    store: Store, purpose: str, name: str, values: Mapping[str, Any], placement: Placement, minutes: float
) -> RunRecord:
    """Submit a run of workload `name` and bring up a session for it; returns when ranks are about to take the run.

    `purpose` begins the session's name, `minutes` is the longest time of the run. Raises BadInput before anything is
    started for what can be checked then, and WorkshopError with the reason where the session doesn't come up; then the
    run is cancelled and nothing is left."""
    chosen = workload(name)
    where = client.placement_in(None, placement.as_json())
    client.inputs_of(store, chosen, chosen.check(values), where)
    session, conductor = start_session(
        store,
        private_name(purpose),
        where,
        limits=Limits(minutes=minutes, everybody=True),
        private=True,
        until_idle=True,
    )
    try:
        run = client.submit(store, session, name, values, where.as_json())
    except BaseException:
        end_conductor(conductor)
        clean_up(store, session)
        raise
    try:
        wait_ready(store, session, conductor)
    except WorkshopError:
        if store.run(run.id).started_at is None:  # otherwise it is over already, and its session with it
            cancel_queue(store, session.id)
            raise
    return store.run(run.id)
