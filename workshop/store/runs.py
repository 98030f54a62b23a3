"""Runs in the store: queued, taken, ended; which is next, and the time until then."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any, TypedDict, Unpack

from sqlalchemy import ColumnElement, Connection, Row, and_, bindparam, case, func, literal, select

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.store.artifacts import put
from workshop.store.database import Database, inserted
from workshop.store.records import RunRecord, RunStatus
from workshop.store.sessions import SILENT_NOW, refuse
from workshop.store.tables import runs, sessions, trials

ABANDONED = "the session's conductor was gone before the run had ended"


# Built once, see `workshop.store.sessions`.
# The status as it reads: nobody works on a run whose conductor is dead, whatever was last written.
_STATUS = case((and_(runs.c.status == "running", SILENT_NOW), literal("interrupted")), else_=runs.c.status)
_SELECT = select(
    *(column for column in runs.c if column not in (runs.c.status, runs.c.events)),
    _STATUS.label("status"),
    runs.c.status.label("written"),
    sessions.c.name.label("session"),
    sessions.c.heartbeat_at,
).join_from(runs, sessions)
_BY_ID = _SELECT.where(runs.c.id == bindparam("wanted"))
_WAITING = select(func.count()).where(runs.c.session_id == bindparam("wanted"), runs.c.status == "queued")


class RunChanges(TypedDict, total=False):
    """The columns of a run that can change before it has ended."""

    rank_map: Mapping[str, Any] | None
    machine: Mapping[str, Any] | None
    progress: tuple[float, float] | None
    activity: Mapping[str, Any] | None
    notices: Sequence[str]
    metrics: Mapping[str, Any]


class Runs:
    """Workloads with params on placements. A run that a dead conductor left running has the status `interrupted`."""

    database: Database

    def submit(
        self,
        session_id: int,
        workload: str,
        params: Mapping[str, Any],
        placement: Mapping[str, Any],
        *,
        submitted_by: str = "",
        identity_id: int | None = None,
        measured: bool = False,
        inputs: Mapping[str, bytes] | None = None,
        most_unfinished: int | None = None,
        most_in_all: int | None = None,
        trial: tuple[int, int] | None = None,
    ) -> RunRecord:
        """Queue a run; `inputs` become its artifacts `input/<name>`, and it becomes the run of the `trial` (study,
        number). Raises BadInput for an input over 64 MB, where `identity_id` has `most_unfinished` runs in this
        session already, and where all learners together have `most_in_all`."""
        with self.database.writing() as connection:
            refuse(connection)
            if most_unfinished is not None:
                of_theirs = (runs.c.session_id == session_id, runs.c.identity_id == identity_id)
                unfinished = _unfinished(connection, *of_theirs)
                if unfinished >= most_unfinished:
                    raise BadInput(
                        f"You have {words.count(unfinished, 'unfinished run')}, as many as this session allows; "
                        "wait for one or cancel it."
                    )
            of_learners = (runs.c.session_id == session_id, runs.c.identity_id.is_not(None))
            if most_in_all is not None and _unfinished(connection, *of_learners) >= most_in_all:
                raise BadInput(
                    f"The queue of this session is full: {most_in_all} runs of learners wait in it or go on; try again "
                    "when some of them have ended."
                )
            if connection.scalar(select(sessions.c.id).where(sessions.c.id == session_id)) is None:
                raise BadInput(f"There is no session with the id {session_id}.")
            run_id = inserted(
                connection,
                runs.insert().values(
                    session_id=session_id,
                    workload=workload,
                    status="queued",
                    params=dict(params),
                    placement=dict(placement),
                    submitted_by=submitted_by,
                    identity_id=identity_id,
                    measured=measured,
                    metrics={},
                    notices=[],
                    queued_at=time.time(),
                    cancel_requested=False,
                    events=0,
                ),
            )
            for name, data in (inputs or {}).items():
                put(connection, run_id, f"input/{name}", "application/octet-stream", data)
            if trial is not None:
                this = trials.update().where(trials.c.study_id == trial[0], trials.c.number == trial[1])
                if connection.execute(this.values(run_id=run_id, error=None, pruned=None)).rowcount == 0:
                    raise BadInput(f"Study {trial[0]} has no trial {trial[1]}.")
        return self.run(run_id)

    def run(self, run_id: int) -> RunRecord:
        """The run with that id. Raises BadInput where there is none."""
        row = self.database.by_id(_BY_ID, run_id)
        if row is None:
            raise BadInput(f"There is no run {run_id}; `workshop runs list` shows those there are.")
        return _record(row)

    def runs(
        self,
        session_id: int | None = None,
        workload: str | None = None,
        status: RunStatus | None = None,
        submitted_by: str | None = None,
        study_id: int | None = None,
        limit: int | None = 100,
        before_id: int | None = None,
    ) -> list[RunRecord]:
        """Runs that match all filters, newest first; `before_id` is for paging. For a study, the runs of its present
        trials."""
        query = _SELECT.order_by(runs.c.id.desc()).limit(limit)
        filters = {runs.c.session_id: session_id, runs.c.workload: workload, runs.c.submitted_by: submitted_by}
        for column, value in filters.items():
            if value is not None:
                query = query.where(column == value)
        if status is not None:
            query = query.where(_STATUS.in_((status,)))
        if study_id is not None:
            query = query.where(runs.c.id.in_(select(trials.c.run_id).where(trials.c.study_id == study_id)))
        if before_id is not None:
            query = query.where(runs.c.id < before_id)
        with self.database.reading() as connection:
            return [_record(row) for row in connection.execute(query)]

    def queue(self, session_id: int) -> list[RunRecord]:
        """The session's queued runs in the order in which they will be taken, see `workshop.store.runs.turns`."""
        with self.database.reading() as connection:
            return _queue(connection, session_id)

    def take_next(self, session_id: int, measured: bool = True) -> RunRecord | None:
        """Take the first run of the queue: it is `running` from now on, and nobody else gets it. Without `measured`,
        runs that are to be measured stay in the queue."""
        with self.database.reading() as connection:
            # Asked ten times a second: an empty queue must not make writers wait.
            if connection.scalar(_WAITING, {"wanted": session_id}) == 0:
                return None
        now = time.time()
        with self.database.writing() as connection:
            cancelled = runs.update().where(*_queued(session_id), runs.c.cancel_requested)
            connection.execute(cancelled.values(status="cancelled", finished_at=now))
            queue = [run for run in _queue(connection, session_id) if measured or not run.measured]
            if not queue:
                return None
            run_id = queue[0].id
            connection.execute(runs.update().where(runs.c.id == run_id).values(status="running", started_at=now))
        return self.run(run_id)

    def set_run(self, run_id: int, **changes: Unpack[RunChanges]) -> None:
        """Write the given fields. Raises BadInput where there is no such run."""
        with self.database.writing() as connection:
            changed = connection.execute(runs.update().where(runs.c.id == run_id).values(**changes))
            if changed.rowcount == 0:
                raise BadInput(f"There is no run {run_id}.")

    def finish(
        self,
        run_id: int,
        status: RunStatus,
        *,
        metrics: Mapping[str, Any] | None = None,
        error: Mapping[str, Any] | None = None,
        verdict: Mapping[str, str] | None = None,
    ) -> bool:
        """End a run that is queued or running. False, and nothing changed, for one that has ended already."""
        unfinished = and_(runs.c.id == run_id, runs.c.status.in_(("queued", "running")))
        values = {"status": status, "metrics": metrics or {}, "error": error, "verdict": verdict}
        with self.database.writing() as connection:
            ended = connection.execute(runs.update().where(unfinished).values(**values, finished_at=time.time()))
            return ended.rowcount == 1

    def request_cancel(self, run_id: int) -> None:
        """Cancel a run: at once while it is queued; one that runs is asked to end; one that has ended stays so."""
        with self.database.writing() as connection:
            status = connection.scalar(select(runs.c.status).where(runs.c.id == run_id))
            if status is None:
                raise BadInput(f"There is no run {run_id}; `workshop runs list` shows those there are.")
            change = runs.update().where(runs.c.id == run_id)
            if status == "queued":
                connection.execute(change.values(status="cancelled", cancel_requested=True, finished_at=time.time()))
            elif status == "running":
                connection.execute(change.values(cancel_requested=True))

    def request_cancel_all(self, identity_id: int) -> int:
        """Cancel all unfinished runs of a person as `request_cancel` does. Returns how many."""
        unfinished = (runs.c.identity_id == identity_id, runs.c.status.in_(("queued", "running")))
        with self.database.writing() as connection:
            these = runs.update().where(*unfinished)
            count = connection.execute(these.values(cancel_requested=True)).rowcount
            ended = {"status": "cancelled", "finished_at": time.time()}
            connection.execute(these.where(runs.c.status == "queued").values(**ended))
        return count

    def request_kill(self, run_id: int, rank: int) -> None:
        """Ask for the end of one rank of a run that is running; another run is left alone."""
        running = and_(runs.c.id == run_id, runs.c.status == "running")
        with self.database.writing() as connection:
            row = connection.execute(select(runs.c.kill_requested).where(running)).one_or_none()
            if row is not None:
                connection.execute(runs.update().where(running).values(kill_requested=[*(row[0] or []), rank]))

    def interrupt_left(self, session_id: int) -> int:
        """Write down as interrupted what a dead conductor left running. Returns how many runs that were."""
        with self.database.writing() as connection:
            last_heartbeat = connection.scalar(select(sessions.c.heartbeat_at).where(sessions.c.id == session_id))
            update = runs.update().where(runs.c.session_id == session_id, runs.c.status == "running")
            values = {"status": "interrupted", "error": _interruption(), "finished_at": last_heartbeat or time.time()}
            return connection.execute(update.values(**values)).rowcount


def _queued(session_id: int) -> tuple[Any, ...]:
    return runs.c.session_id == session_id, runs.c.status == "queued"


def _queue(connection: Connection, session_id: int) -> list[RunRecord]:
    queued = {row.id: _record(row) for row in connection.execute(_SELECT.where(*_queued(session_id)))}
    if not queued:
        return []  # asked ten times a second
    starts = connection.execute(
        select(runs.c.identity_id, runs.c.submitted_by, func.max(runs.c.started_at))
        .where(runs.c.session_id == session_id, runs.c.started_at.is_not(None))
        .group_by(runs.c.identity_id, runs.c.submitted_by)
    )
    last_taken = {who if who is not None else nickname: at for who, nickname, at in starts}
    return [queued[run_id] for run_id in turns([(run.id, owner(run)) for run in queued.values()], last_taken)]


def _interruption() -> dict[str, Any]:
    return {"rank": None, "host": None, "type": "Interrupted", "message": ABANDONED, "traceback": ""}


def _record(row: Row[*tuple[Any, ...]]) -> RunRecord:
    values = dict(row._mapping)
    written, heartbeat_at = values.pop("written"), values.pop("heartbeat_at")
    if values["status"] != written:
        values |= {"error": _interruption(), "finished_at": heartbeat_at}
    if values["progress"] is not None:
        values["progress"] = tuple(values["progress"])
    return RunRecord(**values)


def _unfinished(connection: Connection, *conditions: ColumnElement[bool]) -> int:
    query = select(func.count()).where(*conditions, runs.c.status.in_(("queued", "running")))
    return connection.scalar(query) or 0


def owner(run: RunRecord) -> Hashable:
    """The person whose turn a run takes: somebody from the dashboard, else a nickname ("": the command line)."""
    return run.identity_id if run.identity_id is not None else run.submitted_by


def turns(queued: Iterable[tuple[int, Hashable]], last_taken: Mapping[Hashable, float]) -> list[int]:
    """The order of queued runs (id, owner): owners take turns with one run each, and each owner's runs stay in order.
    `last_taken` has the time of each owner's latest run. An owner without one is first, then the one who has waited
    longest. The order stays the same when runs are taken from its front."""
    waiting: dict[Hashable, list[int]] = defaultdict(list)
    for run_id, who in sorted(queued, key=lambda pair: pair[0]):
        waiting[who].append(run_id)
    order = sorted(waiting, key=lambda who: (last_taken.get(who, float("-inf")), waiting[who][0]))
    rounds = max(map(len, waiting.values()), default=0)
    return [waiting[who][turn] for turn in range(rounds) for who in order if turn < len(waiting[who])]


def expected_wait(
    queue: Sequence[RunRecord], running: RunRecord | None, history: Iterable[RunRecord], now: float | None = None
) -> dict[int, float | None]:
    """Expected seconds until each run of the `queue` begins, by run id; None where an earlier run's length is unknown,
    or the one that runs takes longer than usual. A run takes the median of its workload's ended runs in `history`, or
    of all runs where its workload has none."""
    now = time.time() if now is None else now
    past: dict[str, list[float]] = defaultdict(list)
    for run in history:
        if run.started_at is not None and run.finished_at is not None:
            past[run.workload].append(run.finished_at - run.started_at)
    usual = {workload: median(seconds) for workload, seconds in past.items()}
    fallback = median(seconds for all_of_one in past.values() for seconds in all_of_one) if past else None

    wait: float | None = 0.0
    if running is not None:
        lasts = usual.get(running.workload, fallback)
        since = now - (running.started_at if running.started_at is not None else now)
        wait = None if lasts is None or since > lasts else lasts - since
    waits: dict[int, float | None] = {}
    for run in queue:
        waits[run.id] = wait
        lasts = usual.get(run.workload, fallback)
        wait = None if wait is None or lasts is None else wait + lasts
    return waits
