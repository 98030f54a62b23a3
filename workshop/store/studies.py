"""Studies in the store: which runs they want, which they have, and who works on them."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from sqlalchemy import Row, Select, and_, bindparam, case, exists, func, literal, or_, select

from workshop.core.errors import BadInput
from workshop.store.database import Database, inserted
from workshop.store.records import StudyRecord, Trial
from workshop.store.sessions import SILENT, refuse
from workshop.store.tables import runs, studies, trials

OPEN = "open"  # the written state of a study that has not finished; how it reads depends on its runner's heartbeat


class Studies:
    """Runs that belong together. A study's runner sends a heartbeat every second; a silent runner counts as dead."""

    database: Database

    def create_study(
        self,
        kind: str,
        workload: str,
        description: Mapping[str, Any],
        new_trials: Sequence[Trial],
        submitted_by: str = "",
    ) -> StudyRecord:
        """Keep a study with the trials that it wants. Nobody works on it yet."""
        now = time.time()
        with self.database.writing() as connection:
            refuse(connection)
            values = {"kind": kind, "workload": workload, "description": dict(description), "state": OPEN}
            row = studies.insert().values(**values, submitted_by=submitted_by, created_at=now)
            study_id = inserted(connection, row)
            if new_trials:
                connection.execute(trials.insert(), [{"study_id": study_id, **vars(trial)} for trial in new_trials])
        return self.study(study_id)

    def study(self, study_id: int) -> StudyRecord:
        """The study with that id. Raises BadInput where there is none."""
        row = self.database.by_id(_select().where(studies.c.id == bindparam("wanted")), study_id)
        if row is None:
            raise _none(study_id)
        return StudyRecord(**row._mapping)

    def studies(self, kinds: Collection[str] | None = None, limit: int = 100) -> list[StudyRecord]:
        """Studies of these kinds (None: of all), the newest first."""
        query = _select().order_by(studies.c.id.desc()).limit(limit)
        if kinds is not None:
            query = query.where(studies.c.kind.in_(kinds))
        with self.database.reading() as connection:
            return [StudyRecord(**row._mapping) for row in connection.execute(query)]

    def trials(self, study_id: int) -> list[Trial]:
        """A study's trials in their order; `runs(study_id=…)` has their runs."""
        columns = [column for column in trials.c if column is not trials.c.study_id]
        query = select(*columns).where(trials.c.study_id == study_id).order_by(trials.c.number)
        with self.database.reading() as connection:
            return [_trial(row) for row in connection.execute(query)]

    def take_study(self, study_id: int, runner: str) -> float | None:
        """Work on a study from now on, under the name `runner`; `keep_study` has to follow every second. Returns None,
        or, while somebody else works on it, when that one was last heard of."""
        now = time.time()
        free = or_(studies.c.runner.is_(None), studies.c.heartbeat_at < now - SILENT)
        with self.database.writing() as connection:
            refuse(connection)
            take = studies.update().where(studies.c.id == study_id, free).values(runner=runner, heartbeat_at=now)
            if connection.execute(take).rowcount:
                return None
            of_other = select(studies.c.heartbeat_at).where(studies.c.id == study_id)
            last_heartbeat: float | None = connection.scalar(of_other)
        if last_heartbeat is None:
            raise _none(study_id)
        return last_heartbeat

    def keep_study(self, study_id: int, runner: str) -> bool:
        """Say that `runner` still works on a study. False where another process has taken it over."""
        return self._as_runner(study_id, runner, heartbeat_at=time.time())

    def leave_study(self, study_id: int, runner: str) -> None:
        """Say that `runner` works on a study no longer."""
        self._as_runner(study_id, runner, runner=None, heartbeat_at=None)

    def finish_study(self, study_id: int, runner: str, state: Literal["completed", "failed"]) -> None:
        """Say that all trials of a study have ended."""
        self._as_runner(study_id, runner, state=state, finished_at=time.time())

    def add_trials(self, study_id: int, runner: str, new_trials: Sequence[Trial]) -> bool:
        """Add trials to a study, with the next numbers. False, without a change, where another process has taken the
        study over."""
        with self.database.writing() as connection:
            owned = select(studies.c.id).where(studies.c.id == study_id, studies.c.runner == runner)
            if connection.scalar(owned) is None:
                return False
            if new_trials:
                connection.execute(trials.insert(), [{"study_id": study_id, **vars(trial)} for trial in new_trials])
        return True

    def ask_study(self, study_id: int, runner: str, description: Mapping[str, Any]) -> bool:
        """Add a description's questions to a study, which is then incomplete again. False where another process has
        taken the study over."""
        return self._as_runner(study_id, runner, description=dict(description), state=OPEN, finished_at=None)

    def fail_trial(self, study_id: int, number: int, error: Mapping[str, Any]) -> None:
        """A trial counts as failed: it could not be submitted, or its run was ended for a reason of the study's."""
        self._change_trials(study_id, [number], error=dict(error))

    def prune_trial(self, study_id: int, number: int, pruned: Mapping[str, Any]) -> None:
        """A trial was ended early because it could no longer win: `why`, and the `rate` it had after `seconds`."""
        self._change_trials(study_id, [number], pruned=dict(pruned))

    def renew_trials(self, study_id: int, numbers: Sequence[int]) -> None:
        """Forget what became of trials: the study wants them again. Their runs stay where they are."""
        self._change_trials(study_id, numbers, run_id=None, error=None, pruned=None)
        with self.database.writing() as connection:
            connection.execute(studies.update().where(studies.c.id == study_id).values(state=OPEN, finished_at=None))

    def _change_trials(self, study_id: int, numbers: Sequence[int], **values: Any) -> None:
        with self.database.writing() as connection:
            these = trials.update().where(trials.c.study_id == study_id, trials.c.number.in_(numbers))
            connection.execute(these.values(**values))

    def _as_runner(self, study_id: int, runner: str, /, **values: Any) -> bool:
        with self.database.writing() as connection:
            update = studies.update().where(studies.c.id == study_id, studies.c.runner == runner)
            return connection.execute(update.values(**values)).rowcount == 1


def _none(study_id: int) -> BadInput:
    return BadInput(f"There is no study {study_id}; `workshop study list` shows those there are.")


def _select() -> Select[Any]:
    alive = and_(studies.c.runner.is_not(None), studies.c.heartbeat_at >= time.time() - SILENT)
    begun = exists().where(trials.c.study_id == studies.c.id, trials.c.run_id.is_not(None)).correlate(studies)
    read = case(
        (studies.c.state != OPEN, studies.c.state),
        (alive, literal("running")),
        (begun, literal("interrupted")),
        else_=literal("prepared"),
    ).label("state")
    visible = (column for column in studies.c if column.name not in ("runner", "heartbeat_at"))
    failed = or_(trials.c.error.is_not(None), func.coalesce(runs.c.status, "") == "failed")
    done = or_(failed, trials.c.pruned.is_not(None), func.coalesce(runs.c.status, "") == "completed")
    return select(
        *(read if column is studies.c.state else column for column in visible),
        _count().label("trials"),
        _count(done).label("done"),
        _count(failed).label("failed"),
    )


def _count(*conditions: Any) -> Any:
    """How many trials of the study at hand fulfil all conditions."""
    query = select(func.count()).select_from(trials.outerjoin(runs, trials.c.run_id == runs.c.id))
    return query.where(trials.c.study_id == studies.c.id, *conditions).correlate(studies).scalar_subquery()


def _trial(row: Row[Any]) -> Trial:
    return Trial(**{**row._mapping, "point": row.point or {}})
