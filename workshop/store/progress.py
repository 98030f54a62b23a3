"""Progress in the store: how far everybody has come with each exercise, prediction and notebook of a lab. And guesses:
what people predict before they see, each person's latest about each thing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, func, select

from workshop.core.errors import BadInput
from workshop.store.database import Database
from workshop.store.records import Guess, LabProgress
from workshop.store.tables import guesses, identities, progress

LARGEST_VALUE = 10_000  # characters of a guess or of what was measured, as JSON
# States of exercises, named as in `course.exercise_checks`: solved; nothing is there that could be wrong.
RIGHT, EMPTY = "right", "empty"


class Progresses:
    """One row for each learner and thing. Concurrent writers (a notebook that is open twice) lose nothing."""

    database: Database

    def keep_check(self, learner: str, lab: str, item: str, state: str, hint: str) -> LabProgress:
        """Count a check of an exercise: `state` is its result, `hint` the hint ("" where the answer is right).

        A solved exercise stays solved (`right_at`), also after a wrong check. An empty answer isn't wrong, because
        somebody may run a whole notebook before reaching its exercises.
        """

        def change(row: Row[Any] | None, now: float) -> dict[str, Any]:
            right = state == RIGHT
            before = row.wrong if row is not None else 0
            wrong = 0 if right else before if state == EMPTY else before + 1
            solved = row.right_at if row is not None and row.right_at is not None else now if right else None
            tries = 1 + (row.tries if row is not None else 0)
            return {"state": state, "tries": tries, "wrong": wrong, "said": hint, "right_at": solved}

        return self._keep(learner, lab, "exercise", item, change)

    def keep_prediction(
        self, learner: str, lab: str, item: str, guess: Any = None, measured: Any = None
    ) -> LabProgress:
        """Store a prediction, a measured value, or both; None leaves a value as it is. Raises BadInput for values that
        JSON doesn't have."""
        new = {key: value for key, value in (("guess", guess), ("measured", measured)) if value is not None}
        for key, value in new.items():
            _check_value(key, value)

        def change(row: Row[Any] | None, now: float) -> dict[str, Any]:
            return {"value": {**(row.value or {} if row is not None else {}), **new}}

        return self._keep(learner, lab, "prediction", item, change)

    def keep_opened(self, learner: str, lab: str) -> LabProgress:
        """Keep that somebody has opened a lab's notebook: `began_at` is the first time, `changed_at` the last one."""
        return self._keep(learner, lab, "notebook", "", lambda row, now: {})

    def progress(self, learner: str | None = None, lab: str | None = None) -> list[LabProgress]:
        """The rows of everybody, of one learner, or of one lab; sorted by learner, lab, kind and item."""
        filters = {progress.c.learner: learner, progress.c.lab: lab}
        query = select(progress).where(*(column == value for column, value in filters.items() if value is not None))
        with self.database.reading() as connection:
            entries = [LabProgress(**row._mapping) for row in connection.execute(query)]
        return sorted(entries, key=lambda entry: (entry.learner, entry.lab, entry.kind, entry.item))

    def forget_progress(self, learner: str, lab: str | None = None) -> int:
        """Delete a learner's progress in one lab or in all. Returns the number of deleted rows."""
        gone = progress.delete().where(progress.c.learner == learner)
        if lab is not None:
            gone = gone.where(progress.c.lab == lab)
        with self.database.writing() as connection:
            return connection.execute(gone).rowcount

    def _keep(
        self,
        learner: str,
        lab: str,
        kind: str,
        item: str,
        change: Callable[[Row[Any] | None, float], Mapping[str, Any]],
    ) -> LabProgress:
        """Write one row. `change` computes its values from the present row (None: there is none) and the time."""
        key = {"learner": learner, "lab": lab, "kind": kind, "item": item}
        whose = and_(*(progress.c[name] == value for name, value in key.items()))
        with self.database.writing() as connection:
            row, now = _row(connection, whose), time.time()
            changed = {**change(row, now), "changed_at": now}
            if row is not None:
                connection.execute(progress.update().where(whose).values(**changed))
            else:
                empty = {"state": "", "tries": 0, "wrong": 0, "said": "", "value": None, "right_at": None}
                connection.execute(progress.insert().values(**key, **{**empty, "began_at": now, **changed}))
            new_row = _row(connection, whose)
        assert new_row is not None, "just written"
        return LabProgress(**new_row._mapping)


def _row(connection: Connection, whose: Any) -> Row[Any] | None:
    return connection.execute(select(progress).where(whose)).first()


def _check_value(key: str, value: Any) -> None:
    words = "guess" if key == "guess" else "measured value"
    try:
        size = len(json.dumps(value))
    except (TypeError, ValueError, RecursionError):
        raise BadInput(
            f"A {words} should be a number, a text, or a list or dict of such, not {type(value).__name__}."
        ) from None
    if size > LARGEST_VALUE:
        raise BadInput(f"The {words} has {size} characters as JSON; at most {LARGEST_VALUE} are kept.")


class Guesses:
    """Guesses by subject and person; the command line's have no person (identity None)."""

    database: Database

    def keep_guess(self, identity_id: int | None, about: str, value: Any) -> None:
        """Store a guess in place of an earlier one."""
        with self.database.writing() as connection:
            connection.execute(guesses.delete().where(guesses.c.about == about, _whose(identity_id)))
            values = {"about": about, "identity_id": identity_id, "value": value, "created_at": time.time()}
            connection.execute(guesses.insert().values(**values))

    def guess(self, identity_id: int | None, about: str) -> Guess | None:
        """A person's guess; None without one."""
        query = _select().where(guesses.c.about == about, _whose(identity_id))
        with self.database.reading() as connection:
            row = connection.execute(query).first()
        return Guess(**row._mapping) if row is not None else None

    def guesses(self, about: str) -> list[Guess]:
        """Everybody's guesses about a subject, in the order in which they came."""
        query = _select().where(guesses.c.about == about).order_by(guesses.c.id)
        with self.database.reading() as connection:
            return [Guess(**row._mapping) for row in connection.execute(query)]


def _whose(identity_id: int | None) -> Any:
    return guesses.c.identity_id.is_(None) if identity_id is None else guesses.c.identity_id == identity_id


def _select() -> Select[Any]:
    nickname = func.coalesce(identities.c.nickname, "").label("nickname")
    columns = (guesses.c.about, guesses.c.identity_id, nickname, guesses.c.value, guesses.c.created_at)
    return select(*columns).select_from(guesses.outerjoin(identities, guesses.c.identity_id == identities.c.id))
