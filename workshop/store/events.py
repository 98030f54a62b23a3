"""Events in the store: what ranks told, batch by batch."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, and_, bindparam, case, func, select, true
from sqlalchemy.dialects import sqlite

from workshop.core.errors import BadInput
from workshop.store.database import Database
from workshop.store.records import Event, Series, Total
from workshop.store.tables import SPANS, batches, events, names, runs, spans

if TYPE_CHECKING:
    import psycopg

EventValues = tuple[float, str, int | None, float]  # time, name, step, value: as ranks send it
Batch = tuple[int, int, int, Sequence[EventValues]]  # run id, rank, number from 1, events

HUGE = 1e300  # a hundred million such values can be added


# Built once, see `workshop.store.sessions`.
_NUMBERS = select(names.c.name, names.c.id).where(names.c.name.in_(bindparam("wanted", expanding=True)))
_LAST = select(runs.c.events).where(runs.c.id == bindparam("wanted"))
_BEFORE = select(batches.c.rank, batches.c.batch).where(
    batches.c.run_id == bindparam("wanted"), batches.c.batch.in_(bindparam("numbers", expanding=True))
)
_COUNT = runs.update().where(runs.c.id == bindparam("wanted")).values(events=bindparam("last"))
_PROGRESS = runs.update().where(runs.c.id == bindparam("wanted")).values(progress=bindparam("done"))
_INSERT = str(events.insert().compile(dialect=sqlite.dialect()))


class Events:
    """The values that ranks told. Ids count from 1 within each run, in the order of arrival."""

    database: Database

    def add_events(self, run_id: int, rank: int, batch: int, events: Sequence[EventValues]) -> bool:
        """Store a numbered batch of one rank. False, and nothing written, where it was stored before."""
        return self.add_batches([(run_id, rank, batch, events)]) == 1

    def add_batches(
        self, all_batches: Iterable[Batch], progress: Mapping[int, tuple[float, float]] | None = None
    ) -> int:
        """Store batches, and how far runs are (done, total), in one transaction. Batches that are stored already are
        left out. Returns how many were new."""
        by_run: dict[int, list[Batch]] = defaultdict(list)
        for batch in all_batches:
            by_run[batch[0]].append(batch)
        stored = 0
        with self.database.writing() as connection:
            event_names = {name for some in by_run.values() for *_, values in some for _, name, _, _ in values}
            numbers = _number_names(connection, event_names)
            for run_id, some in by_run.items():
                stored += _add_to_run(connection, run_id, some, numbers)
            for run_id, done in (progress or {}).items():
                connection.execute(_PROGRESS, {"wanted": run_id, "done": done})
        return stored

    def missing_batches(self, run_id: int, life: int) -> dict[int, list[int]]:
        """The numbers of batches that never came although later ones did, by rank; empty: nothing is missing. A process
        that takes the place of a lost one counts from the next multiple of `life` on."""
        of_run = batches.c.run_id == run_id
        missing: dict[int, list[int]] = {}
        with self.database.reading() as connection:
            lives = (batches.c.batch - 1) // life
            counts = select(batches.c.rank, lives, func.count(), func.max(batches.c.batch)).where(of_run)
            for rank, number, count, last in connection.execute(counts.group_by(batches.c.rank, lives)).all():
                if count < last - number * life:
                    present = connection.scalars(select(batches.c.batch).where(of_run, batches.c.rank == rank))
                    expected = range(number * life + 1, last + 1)
                    missing.setdefault(rank, []).extend(sorted(set(expected) - set(present)))
        return missing

    def events(
        self,
        run_id: int,
        names: Iterable[str] | None = None,
        rank: int | None = None,
        after: int = 0,
        limit: int = 100_000,
    ) -> list[Event]:
        """Events in the order of arrival: the first `limit` whose id is above `after`."""
        query = _SELECT.where(events.c.run_id == run_id, events.c.id > after).order_by(events.c.id).limit(limit)
        if names is not None:
            query = query.where(_names.c.name.in_(list(names)))
        if rank is not None:
            query = query.where(events.c.rank == rank)
        with self.database.reading() as connection:
            rows = connection.execute(query)
            return [Event(who, at, name, step, _number(value), number) for who, at, name, step, value, number in rows]

    def last_event_id(self, run_id: int, until: float = math.inf) -> int:
        """The id of a run's newest event (`until` a time), which is also how many it has; 0 for none."""
        with self.database.reading() as connection:
            if until != math.inf:
                newest = select(func.max(events.c.id)).where(_of_run(run_id, until))
                return connection.scalar(newest) or 0
            return connection.scalar(select(runs.c.events).where(runs.c.id == run_id)) or 0

    def event_names(self, run_id: int) -> list[str]:
        """The names of a run's events, sorted."""
        in_run = select(events.c.id).where(events.c.run_id == run_id, events.c.name_id == names.c.id).exists()
        with self.database.reading() as connection:
            return sorted(connection.scalars(select(names.c.name).where(in_run)))

    def totals(self, run_id: int, until: float = math.inf) -> dict[str, dict[int, Total]]:
        """For each name and rank the number of events, and the sum, the least and the most of their values (`until` a
        time), those left out that are no numbers."""
        value = events.c.value
        grouped = (
            select(events.c.name_id, events.c.rank, func.count(), _sum(), func.min(value), func.max(value))
            .where(_of_run(run_id, until))
            .group_by(events.c.name_id, events.c.rank)
        )
        totals: dict[str, dict[int, Total]] = defaultdict(dict)
        with self.database.reading() as connection:
            words = dict(connection.execute(select(names.c.id, names.c.name)).all())
            for name_id, rank, count, total, least, most in connection.execute(grouped):
                totals[words[name_id]][rank] = Total(count, total or 0.0, least, most)
        return dict(totals)

    def series(self, run_id: int, name: str, points: int = 400, until: float = math.inf) -> list[Series]:
        """The events of one name for plots (`until` a time), one series per rank: a point for each of at most `points`
        events (2 to 2,000), otherwise one for each of `points` equal spans of steps. Events without steps are divided
        by time, and a point's step is the number of events before it. A span without numbers is NaN."""
        points = min(max(points, 2), SPANS)
        with self.database.reading() as connection:
            name_id = connection.scalar(select(names.c.id).where(names.c.name == name))
            if name_id is None:
                return []
            ranks = select(batches.c.rank).distinct().where(batches.c.run_id == run_id).order_by(batches.c.rank)
            rank_numbers = connection.scalars(ranks).all()
            of_name = and_(_of_run(run_id, until), events.c.name_id == name_id)
            all_series = [_series(connection, of_name, name, rank, points) for rank in rank_numbers]
        return [series for series in all_series if series.count]


_names = names  # `Events.events` has an argument of this name

_SELECT = select(events.c.rank, events.c.time, names.c.name, events.c.step, events.c.value, events.c.id).join_from(
    events, names, events.c.name_id == names.c.id
)


def _of_run(run_id: int, until: float) -> ColumnElement[bool]:
    return and_(events.c.run_id == run_id, *([events.c.time <= until] if until < math.inf else []))


def _sum() -> ColumnElement[float]:
    """The sum of values, infinite where a value is beyond HUGE: PostgreSQL refuses to leave the range of floats."""
    value = events.c.value
    return func.sum(case((value > HUGE, math.inf), (value < -HUGE, -math.inf), else_=value))


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _number_names(connection: Connection, event_names: set[str]) -> dict[str, int]:
    """The numbers of event names; new names get one."""
    if not event_names:
        return {}
    numbers = dict(connection.execute(_NUMBERS, {"wanted": list(event_names)}).all())
    new = sorted(event_names - numbers.keys())
    if new:
        connection.execute(names.insert(), [{"name": name} for name in new])
        numbers = dict(connection.execute(_NUMBERS, {"wanted": list(event_names)}).all())
    return numbers


def _add_to_run(connection: Connection, run_id: int, new_batches: Sequence[Batch], numbers: dict[str, int]) -> int:
    """Store batches of one run, within a writing transaction. Returns how many were new."""
    last = connection.scalar(_LAST, {"wanted": run_id})
    if last is None:
        raise BadInput(f"There is no run {run_id}.")
    # Of equal ones the first counts.
    by_key = {(rank, number): values for _, rank, number, values in reversed(new_batches)}
    these = {"wanted": run_id, "numbers": list({number for _, number in by_key})}
    before = connection.execute(_BEFORE, these).all()
    new = {key: values for key, values in sorted(by_key.items()) if key not in set(before)}
    if not new:
        return 0
    rows = []
    for (rank, _), values in new.items():
        for time, name, step, value in values:
            last += 1
            number = None if math.isnan(value) else value
            rows.append((run_id, last, numbers[name], rank, step, time, number))
    connection.execute(batches.insert(), [{"run_id": run_id, "rank": rank, "batch": number} for rank, number in new])
    if rows:
        _write(connection, rows)
        connection.execute(_COUNT, {"wanted": run_id, "last": last})
    return len(new)


def _write(connection: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert events, in the order of the table's columns, each database's fastest way: three times as fast as
    `connection.execute`, and a workload may tell a hundred thousand values a second."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(_INSERT, list(rows))
        return
    columns = ", ".join(column.name for column in events.c)
    driver: psycopg.Connection[Any] | None = connection.connection.driver_connection
    assert driver is not None, "it is connected"
    with driver.cursor() as cursor, cursor.copy(f"COPY events ({columns}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def _series(connection: Connection, of_name: Any, name: str, rank: int, points: int) -> Series:
    of_rank = and_(of_name, events.c.rank == rank)
    columns = (events.c.step, events.c.time)
    rows = connection.execute(
        select(*columns, events.c.value).where(of_rank).order_by(*columns).limit(points + 1)
    ).all()
    if len(rows) > points:
        return _thinned(connection, of_rank, name, rank, points)
    values = [_number(row.value) for row in rows]
    steps = [number if row.step is None else row.step for number, row in enumerate(rows)]
    return Series(name, rank, len(rows), steps, [row.time for row in rows], values, values, values)


def _thinned(connection: Connection, of_rank: Any, name: str, rank: int, points: int) -> Series:
    """Read one span after the other from the index, which costs no sorting: SQLite would sort a million rows."""
    first, last = _ends(connection, of_rank, events.c.step)
    if first is not None:
        axis, width = events.c.step, (last - first) // points + 1
    else:
        first, last = _ends(connection, of_rank, events.c.time)
        # One span less, so that rounding leaves the last event inside.
        axis, width = events.c.time, (last - first) / (points - 1) or 1.0
        of_rank = and_(of_rank, events.c.step.is_(None))
    here = select(
        func.count().label("events"),
        func.max(events.c.step).label("step"),
        func.max(events.c.time).label("time"),
        func.min(events.c.value).label("low"),
        func.count(events.c.value).label("numbers"),
        _sum().label("sum"),
        func.max(events.c.value).label("high"),
    ).where(of_rank, axis >= first + spans.c.n * width, axis < first + (spans.c.n + 1) * width)
    if connection.dialect.name == "sqlite":
        spanned = here.where(spans.c.n < points).group_by(spans.c.n).order_by(spans.c.n)
    else:
        # SQLite has no lateral joins and needs none; PostgreSQL without one may read all events for each span.
        each = here.lateral()
        spanned = select(each).join_from(spans, each, true()).where(spans.c.n < points, each.c.events > 0)
        spanned = spanned.order_by(spans.c.n)
    rows = connection.execute(spanned).all()
    counts = list(accumulate(row.events for row in rows))
    steps = [count - 1 if row.step is None else row.step for row, count in zip(rows, counts, strict=True)]
    lows, highs = ([_number(value) for value in column] for column in ([r.low for r in rows], [r.high for r in rows]))
    means = [_number(row.sum) / max(row.numbers, 1) for row in rows]
    return Series(name, rank, counts[-1] if rows else 0, steps, [row.time for row in rows], lows, means, highs)


def _ends(connection: Connection, of_rank: Any, column: Any) -> Iterator[Any]:
    """The least and the greatest value of a column, each by one step into the index; None where all are null."""
    return (connection.scalar(select(end(column)).where(of_rank)) for end in (func.min, func.max))
