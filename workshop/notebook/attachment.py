"""Finding the session that is up, or starting one of this notebook's own, which ends with it."""

from __future__ import annotations

import atexit
import subprocess
from contextlib import suppress

from IPython import get_ipython

from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.course import learner
from workshop.notebook import store_access
from workshop.notebook.display import StatusLine, draw_offline
from workshop.notebook.session import Session
from workshop.report import html
from workshop.runtime import lifecycle
from workshop.store.records import SessionRecord
from workshop.store.store import Store

RANKS = 2  # of a private session
ENDS = 4.0  # seconds for a private session's end: Jupyter gives a kernel five
NEXT = "`workshop.attach()` without a name takes the newest that is up, or starts one of your own"

_attached: Session | None = None  # what this notebook is attached to


def attach(name: str | None = None, *, private: bool = False) -> Session:
    """The running session of that name. Without a name: the session of this notebook, else the shared session that was
    started last, else a new private one of two ranks, which ends with this notebook.

    With `private`, always a private one. Raises BadInput where no session of that name is up, and for a learner's name
    that can't be a nickname; WorkshopError where a private one doesn't start.
    """
    global _attached
    if name is not None and private:
        raise BadInput("attach takes the name of a session or private=True, not both.")
    if _attached is not None and _is_meant(_attached, name, private):
        return _attached
    learner.name()  # one that can't be is refused before anything starts
    store = store_access.store()
    record_found = None if private else _named(store, name) if name is not None else _newest(store)
    record = record_found or _start(store, "You asked for" if private else "No session is up, so this starts")
    draw_offline()
    _attached = Session(store, record)
    _magics(_attached)
    return _attached


def _is_meant(attached: Session, name: str | None, private: bool) -> bool:
    """Whether the session that is held is still up, and the one that is asked for."""
    try:
        record = attached.record
    except WorkshopError:  # another state folder, or a database that is gone
        return False
    return record.up and (name is None or record.name == name) and (record.private or not private)


def _newest(store: Store) -> SessionRecord | None:
    up = [session for session in store.sessions() if session.up and not session.private]
    return max(up, key=lambda session: session.created_at, default=None)


def _named(store: Store, name: str) -> SessionRecord:
    by_name = {session.name: session for session in store.sessions()}
    if name not in by_name:
        up = ", ".join(session.name for session in by_name.values() if session.up and not session.private)
        raise BadInput(f"There is no session {name!r}; {f'up are {up}, and' if up else 'none is up;'} {NEXT}.")
    if not by_name[name].up:
        raise BadInput(f"Session {name} is {by_name[name].state}; {NEXT}.")
    return by_name[name]


def _start(store: Store, why: str) -> SessionRecord:
    """A private session, which ends with this process however that ends."""
    message = f"{why} a private one of {RANKS} ranks. It ends with this notebook."
    status = StatusLine()
    status.last(
        f"{message} It takes a few seconds.", html.box(html.line(message) + html.muted("It takes a few seconds."))
    )
    name = lifecycle.private_name("notebook")
    session, conductor = lifecycle.start_session(store, name, Placement(ranks=RANKS), private=True, attached=True)
    atexit.register(_end, conductor)
    try:
        ready = lifecycle.wait_ready(store, session, conductor)
    except BaseException:
        status.last("The private session did not start.", html.box(html.line("The private session did not start.")))
        raise
    status.last(message, html.box(html.line(message)))
    return ready


def _end(conductor: subprocess.Popen[bytes]) -> None:
    """End a private session; where that takes longer than there is time, its conductor ends it by itself."""
    conductor.send_signal(lifecycle.END)
    with suppress(subprocess.TimeoutExpired):
        conductor.wait(ENDS)


def _magics(session: Session) -> None:
    """`%%ranks` and `%%px`, where there is a notebook."""
    if get_ipython() is None:
        return
    from workshop.notebook import magics

    magics.register(session)
