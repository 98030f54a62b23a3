"""A session as a notebook holds it: how it is chosen, its runs, studies, ranks and quizzes."""

from __future__ import annotations

import atexit
import socket
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from IPython import get_ipython

from workshop.core import config, topology, words
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.course import learner
from workshop.notebook import own_ranks, ranks, studies
from workshop.notebook.display import MACROS, NotebookDisplay, Piece, StatusLine, draw_offline
from workshop.notebook.request import ATTACH, dashboard, follow, parted, submit
from workshop.notebook.shown import RankMapShown, RunShown
from workshop.registry import workload as workload_of
from workshop.report import html
from workshop.report.activity import duration
from workshop.report.analysis.threads import asked_threads
from workshop.report.sentences import SESSION, state_words
from workshop.sessions import client, lifecycle
from workshop.store.records import SessionRecord
from workshop.store.store import Store

if TYPE_CHECKING:
    import pandas as pd

    from workshop.notebook.quiz import QuizWidget


RANKS_UP = 30.0  # seconds in which ranks that are being started have reported themselves
MOST = 1000  # runs in a history


def cores_of(session: SessionRecord) -> int:
    """The cores for ranks on a session's machine, or on each of its hosts. Where this host starts the ranks, only the
    cores that this process may use count. Raises WorkshopError where the session hasn't told its machine."""
    if not (units := session.machine.get("units")):
        raise WorkshopError(f"Session {session.name} has not told yet which machine it is on; try again in a moment.")
    if session.site.get("kind") == "local" and session.machine["host"] == socket.gethostname():
        return topology.allowed_cores(session.machine)
    return len({unit["core"] for unit in units})


class Session(NotebookDisplay):
    """A session that is up, as a notebook holds it."""

    def __init__(self, store: Store, record: SessionRecord) -> None:
        self.store = store
        self._id = record.id
        self.name = record.name
        self.private = record.private

    @property
    def record(self) -> SessionRecord:
        """The store's present record."""
        return self.store.session(self._id)

    @property
    def placement(self) -> Placement:
        """Its own, which runs have where they ask for nothing else."""
        return Placement.parse(self.record.placement)

    def up(self) -> SessionRecord:
        """The store's present record. Raises WorkshopError with advice where the session has ended."""
        now = self.record
        if now.up:
            return now
        how = {"lost": "has died", "failed": "has failed"}.get(now.state, f"is {now.state}")
        raise WorkshopError(f"Session {now.name} {how}; take another one with `{ATTACH}`.")

    def run(self, workload: str, /, *, measured: bool = False, **names: Any) -> RunShown:
        """Run a workload and wait for its end; shows how far it is, and then the run.

        Names are settings of the workload and fields of the placement; what isn't named is as the workload has it, and
        as this session has it. `measured`: on fresh ranks, while nobody else measures on this machine. A run that fails
        is returned like any other and shows its error. The stop button cancels it. Raises BadInput for what can't be
        run, WorkshopError where the session is gone.
        """
        session, chosen = self.up(), workload_of(workload)
        params, fields = parted(chosen, names)
        run = submit(self.store, session, chosen, params, fields, learner.identity(self.store), measured)
        line = StatusLine()
        run_shown = RunShown(self.store, follow(self.store, run, line))
        run_shown.show_at(line)
        return run_shown

    def study(self, kind: str, workload: str | None = None, /, **names: Any) -> studies.StudyShown:
        """Run a study and wait for its end; shows how far it is, and then its verdict and figure. See `studies.study`
        for what each kind takes."""
        return studies.study(self.store, self.up(), kind, workload, names)

    def runs(self) -> pd.DataFrame:
        """Your own runs in this session, the newest first."""
        import pandas as pd  # takes a second

        whose = learner.identity(self.store)
        own_runs = self.store.runs(session_id=self._id, submitted_by=whose.nickname if whose else "", limit=MOST)
        rows = [
            {
                "run": run.id,
                "workload": run.workload,
                "status": run.status,
                "placement": Placement.parse(run.placement).describe(),
                "seconds": duration(run),
                "verdict": (run.verdict or {}).get("verdict", ""),
                "queued": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.queued_at)),
            }
            for run in own_runs
        ]
        return pd.DataFrame(rows, columns=["run", "workload", "status", "placement", "seconds", "verdict", "queued"])

    def get(self, number: int) -> RunShown:
        """Any run, by its number. Raises BadInput where there is none."""
        return RunShown(self.store, client.read(self.store, number))

    def rank_map(self) -> RankMapShown:
        """Where the ranks that are up run, as they report it: figure and table. Raises BadInput where none are."""
        now = self._await_record(lambda now: now.rank_map is not None)
        return RankMapShown(f"Session {now.name}", now.machine, now.rank_map, asked_threads(now.placement))

    def quiz(self, name: str, everything: bool = False) -> QuizWidget:
        """The questions that a lab asks, or with `everything` all questions of its deck, one by one. `name` can be the
        file of a deck, too. Answers that were given before come back.

        Predictions are checked against one's own runs in this session. Raises BadInput where there is no such deck.
        """
        from workshop.notebook.quiz import QuizWidget
        from workshop.quiz import reader, self_study

        path = reader.find(name)
        whose = self_study.QuizLearner(learner.identity(self.store), learner.name())
        deck = reader.read_cached(path)
        return QuizWidget(self.store, deck if everything else deck.brief(), whose, self._id, path.parent)

    @property
    def cores(self) -> int:
        """The cores for ranks on its machine, or on each of its hosts. Raises WorkshopError where it hasn't told."""
        return cores_of(self._await_record(lambda now: bool(now.machine.get("units"))))

    @property
    def ranks(self) -> ranks.Cells:
        """The ranks that this notebook's `%%ranks` cells run on."""
        return ranks.cells(self.store, self.record)

    def words(self) -> str:
        now = self.record
        ahead = "" if now.up else f"; take another one with `{ATTACH}`"
        return (
            f"Session {now.name} is {now.state}: {Placement.parse(now.placement).describe()}\n{self._where(now)}{ahead}"
        )

    def pieces(self) -> Iterable[Piece]:
        now = self.record
        kind = "private, ends with this notebook" if now.private else "shared"
        lines = [html.line(f"Session {now.name}", tone="heading"), html.line(f"{state_words(now)} It is {kind}.")]
        if not now.up:
            lines = [lines[0], html.line(f"{SESSION[now.state]} Take another one with `{ATTACH}`.", tone="alarm")]
        waiting = len(self.store.queue(now.id))
        lines.append(html.line(Placement.parse(now.placement).describe(), "Placement"))
        lines.append(html.line(self._where(now), "Where"))
        if waiting:
            lines.append(html.line(f"{words.count(waiting, 'run')} waiting", "Queue"))
        if whose := learner.identity(self.store):
            lines.append(html.line(whose.nickname, "You are"))
        if address := dashboard("/session"):
            lines.append(MACROS.address(address, "Its page on the dashboard"))
        yield html.box("".join(lines), "good" if now.up else "bad")

    def _await_record(self, what: Callable[[SessionRecord], bool]) -> SessionRecord:
        """The store's record once it has `what`, or once the session isn't starting any more."""
        now = self.up()
        until = time.monotonic() + RANKS_UP
        while not what(now) and now.state in ("starting", "restarting") and time.monotonic() < until:
            time.sleep(0.1)
            now = self.up()
        return now

    def _where(self, now: SessionRecord) -> str:
        """Its hosts, or this machine with its cores."""
        machines = topology.machines(now.machine)
        hosts = dict.fromkeys(report["host"] for report in (now.rank_map or {}).get("ranks") or [])
        cores = sum(len({row["core"] for row in host_machine.get("units") or []}) for host_machine in machines.values())
        name = words.listed(hosts or machines) or socket.gethostname()
        return f"on {name}" + (f", {words.count(cores, 'core')}" if cores else "")


RANKS = 2  # of a private session
NEXT = "`workshop.attach()` without a name takes the newest that is up, or starts one of your own"

_open = cache(Store.open)
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
    with suppress(WorkshopError):  # another state folder, or a database that is gone
        now = _attached.record if _attached is not None else None
        if now is not None and now.up and name in (None, now.name) and (now.private or not private):
            return _attached
    learner.name()  # one that can't be is refused before anything starts
    store = notebook_store()
    record_found = None if private else _session_up(store, name)
    record = record_found or _start(store, "You asked for" if private else "No session is up, so this starts")
    draw_offline()
    session = _attached = Session(store, record)
    if get_ipython() is not None:
        ranks.register(lambda: session.ranks)
    return session


def _session_up(store: Store, name: str | None) -> SessionRecord | None:
    """The session of that name; without a name the shared one that was started last."""
    if name is None:
        shared = [session for session in store.sessions() if session.up and not session.private]
        return max(shared, key=lambda session: session.created_at, default=None)
    session = store.session(name)
    if not session.up:
        raise BadInput(f"Session {name} is {session.state}; {NEXT}.")
    return session


def _start(store: Store, why: str) -> SessionRecord:
    """A private session, which ends with this process however that ends."""
    message = f"{why} a private one of {RANKS} ranks. It ends with this notebook."
    status = StatusLine()
    status.say(f"{message} It takes a few seconds.")
    name = lifecycle.private_name("notebook")
    session, conductor = lifecycle.start_session(store, name, Placement(ranks=RANKS), private=True, attached=True)
    atexit.register(own_ranks.end, conductor)
    try:
        ready = lifecycle.wait_ready(store, session, conductor)
    except BaseException:
        status.say("The private session did not start.")
        raise
    status.say(message)
    return ready


def notebook_store() -> Store:
    """The store of this process's state folder, opened once, because a database server allows only so many connections.
    Raises BadInput where it can't be opened."""
    return _open(config.database_url())
