"""A session on emulated hosts, which this machine drives through the store that both share."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator

from workshop.cli.emulation.hosts import EmulatedHosts
from workshop.core import config
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Host, Placement
from workshop.sessions import lifecycle
from workshop.sessions.launchers import ssh as site
from workshop.store.store import Store

READY = 120.0  # seconds within which the session must be ready
ENDED = 20.0  # seconds within which it must have ended
EVERY = 0.2  # seconds between looks whether it has ended by itself


@contextlib.contextmanager
def session_on(hosts: EmulatedHosts, name: str, slots: int) -> Iterator[Callable[[], None]]:
    """A session with its conductor on the first host, and with so many slots and one rank on each host; yields a
    function that waits until somebody stops it, and raises WorkshopError where it ends otherwise. Raises BadInput where
    the hosts can't reach the store, WorkshopError where the session doesn't start."""
    if not config.database_url().startswith("sqlite"):
        raise BadInput(
            "Emulated hosts can't reach a database server of this machine; unset WORKSHOP_DATABASE_URL for them."
        )
    request = json.dumps({"name": name, "hosts": hosts.names, "slots": slots})
    command = [sys.executable, "-P", "-m", "workshop.cli.emulation.session", request]
    log = hosts.folder / "session.log"
    with open(log, "wb") as errors:
        inside = subprocess.Popen(
            hosts.command(hosts.names[0], command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=os.environ | hosts.environment,
            start_new_session=True,  # a Ctrl-C is for us; it ends when we want it to
        )
    assert inside.stdin is not None and inside.stdout is not None, "they are pipes"

    def wait() -> None:
        if code := inside.wait():
            words = log.read_text(errors="replace").strip()
            raise WorkshopError(words or f"The session on the emulated hosts ended with {code}.")

    try:
        if not select.select([inside.stdout], [], [], READY)[0]:
            raise WorkshopError(f"The session on the emulated hosts was not ready within {READY:.0f} s.")
        if not inside.stdout.readline():
            wait()
        yield wait
    finally:
        with contextlib.suppress(OSError):
            inside.stdin.close()
        try:
            inside.wait(ENDED)
        except subprocess.TimeoutExpired:
            inside.kill()
            inside.wait()


def main() -> None:
    """Inside: start the session, tell when it is ready, and end with it; it ends with our standard input."""
    request = json.loads(sys.argv[1])
    hosts = tuple(Host(name=name, slots=request["slots"]) for name in request["hosts"])
    # Nothing is bound: all hosts have the same processors.
    where = Placement(ranks=len(hosts), hosts=hosts, map_by="node", bind_to="none", threads=1)
    try:
        with Store.open() as store:
            session, conductor = lifecycle.start_session(
                store, request["name"], where, attached=True, at=site.options(where.hosts)
            )
            try:
                ready = lifecycle.wait_ready(store, session, conductor)
                print(ready.id, flush=True)
                # Nobody writes to our standard input: it can be read at its end.
                while conductor.poll() is None and not select.select([sys.stdin], [], [], EVERY)[0]:
                    pass
                if conductor.poll() is not None and (now := store.session(ready.id)).state != "stopped":
                    why = now.message if now.state == "failed" else "its conductor was ended"
                    raise WorkshopError(f"Session {ready.name} has ended: {why}")
            finally:
                lifecycle.end_conductor(conductor)
    except WorkshopError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
