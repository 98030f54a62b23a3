"""The rows of a store that a recording gets, in their recorded form; see `workshop.store.recording`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, RowMapping, Table, and_, select

from workshop.core import config
from workshop.core.errors import BadInput
from workshop.store import tables
from workshop.store.anonymous import Names, hosts_in
from workshop.store.recording_file import columns_of
from workshop.store.records import ENDED
from workshop.store.studies import OPEN

LARGEST = 1 << 20  # bytes of a file
RECORDED = "recorded"  # the state of sessions and studies that nobody works on any more
SOME = 500  # numbers in a query: databases take so many
AT_ONCE = 2000  # rows that are read at once
INPUTS = "input/"  # files that ranks were given begin with this
GOING_ON = (".npz", ".keras", ".h5")  # files that are only good for going on
_ABOUT_STUDY = re.compile(r"study/([0-9]{1,9})/.*", re.S)
_OF_PEOPLE = frozenset(
    {
        tables.identities.c.nickname,
        tables.runs.c.submitted_by,
        tables.studies.c.submitted_by,
        tables.quiz_players.c.nickname,
        tables.progress.c.learner,
    }
)
_NAMES = frozenset({tables.sessions.c.name, tables.quiz_rounds.c.session})  # free ones, but not sentences

Row = list[Any]


class RecordingSelection:
    """The recorded rows of some sessions, table by table. `left_out` names the rest afterwards.

    Raises BadInput for an unknown session.
    """

    def __init__(
        self,
        connection: Connection,
        sessions: Sequence[str],
        terms: Collection[str] = (),
        folders: Iterable[str] = (),
        hosts: Iterable[str] = (),
        largest: int = LARGEST,
    ) -> None:
        self.connection = connection
        self.largest = largest
        self._left: Counter[str] = Counter()
        self.sessions = self._sessions(sessions)
        self.runs = self._runs()
        self.studies = self._studies()
        self.rounds = self._rounds()
        self.guesses = self._guesses()
        self.names = Names(self._people(), [*self._hosts(), *hosts], terms, folders)
        self._artifacts: list[Row] = []

    def tables(self) -> Iterator[tuple[Table, Iterable[Row]]]:
        """All tables in the order of a recording, each to be read before the next one."""
        yield tables.identities, self._rows(tables.identities.c.id, self._identities())
        yield tables.sessions, self._rows(tables.sessions.c.id, self.sessions)
        yield tables.runs, self._rows(tables.runs.c.id, self.runs)
        yield tables.names, self._event_names()
        yield tables.batches, self._batches()
        yield tables.events, self._events()
        yield tables.blobs, self._blobs()
        yield tables.artifacts, self._artifacts
        yield tables.studies, self._rows(tables.studies.c.id, self.studies)
        yield tables.trials, self._rows(tables.trials.c.study_id, self.studies, tables.trials.c.number)
        yield tables.guesses, self._rows(tables.guesses.c.id, self.guesses)
        yield tables.quiz_rounds, self._rows(tables.quiz_rounds.c.id, self.rounds)
        yield tables.quiz_players, self._rows(tables.quiz_players.c.round_id, self.rounds, tables.quiz_players.c.id)
        yield tables.quiz_answers, self._rows(tables.quiz_answers.c.round_id, self.rounds, *_key(tables.quiz_answers))
        yield tables.progress, self._progress()

    def machine(self) -> str:
        """The machine of the first session, in words."""
        query = select(tables.sessions.c.machine).where(tables.sessions.c.id == self.sessions[0])
        description = self.connection.scalar(query) or {}
        cores = len({unit.get("core") for unit in description.get("units") or []})
        model = self.names.text(str(description.get("model") or ""))
        words = f"a machine with {cores} core{'' if cores == 1 else 's'}" if cores else "some machine"
        return f"{words} ({model})" if model else words

    def left_out(self) -> list[str]:
        """The parts that the recording leaves out, in words."""
        counted = [f"{count} {what}" for what, count in sorted(self._left.items())]
        return ["settings, ways in and codes of the class", *counted]

    # Which rows

    def _sessions(self, names: Sequence[str]) -> list[int]:
        rows = self.connection.execute(select(tables.sessions.c.name, tables.sessions.c.id))
        id_of = {row.name: row.id for row in rows}
        for name in names:
            if name not in id_of:
                existing = f"there are {', '.join(sorted(id_of))}" if id_of else "there are none yet"
                raise BadInput(f"There is no session {name!r} to record; {existing}.")
        return sorted({id_of[name] for name in names})

    def _runs(self) -> list[int]:
        query = select(tables.runs.c.id, tables.runs.c.status).where(tables.runs.c.session_id.in_(self.sessions))
        rows = self.connection.execute(query.order_by(tables.runs.c.id)).all()
        self._leave("runs that had not ended", sum(row.status not in ENDED for row in rows))
        return [row.id for row in rows if row.status in ENDED]

    def _studies(self) -> list[int]:
        """Those with a run in these sessions and none elsewhere."""
        query = select(tables.trials.c.study_id, tables.runs.c.session_id).join_from(tables.trials, tables.runs)
        where: dict[int, set[int]] = {}
        for study, session in self.connection.execute(query.where(tables.runs.c.status.in_(sorted(ENDED))).distinct()):
            where.setdefault(study, set()).add(session)
        here = [study for study, session_ids in where.items() if session_ids & set(self.sessions)]
        complete = sorted(study for study in here if where[study] <= set(self.sessions))
        self._leave("studies with runs in other sessions", len(here) - len(complete))
        return complete

    def _rounds(self) -> list[int]:
        rounds = tables.quiz_rounds.c
        rows = self.connection.execute(select(rounds.id, rounds.kind, rounds.ended_at).order_by(rounds.id)).all()
        recorded = [row.id for row in rows if row.kind != "live" or row.ended_at is not None]
        self._leave("rounds of quizzes that go on", len(rows) - len(recorded))
        return recorded

    def _guesses(self) -> list[int]:
        guesses, studies = tables.guesses, set(self.studies)
        rows = self.connection.execute(select(guesses.c.id, guesses.c.about).order_by(guesses.c.id)).all()
        about = {row.id: _ABOUT_STUDY.fullmatch(row.about) for row in rows}
        recorded = [id for id, study in about.items() if study is not None and int(study[1]) in studies]
        self._leave("guesses about other things", len(rows) - len(recorded))
        return recorded

    def _identities(self) -> list[int]:
        identity_ids = [
            *self._values(tables.runs.c.identity_id, tables.runs.c.id, self.runs),
            *self._values(tables.guesses.c.identity_id, tables.guesses.c.id, self.guesses),
            *self._values(tables.quiz_players.c.identity_id, tables.quiz_players.c.round_id, self.rounds),
        ]
        return sorted({identity_id for identity_id in identity_ids if identity_id is not None})

    def _people(self) -> Iterator[str]:
        """Everybody's names, in the order in which they get numbers."""
        yield from self._values(tables.identities.c.nickname, tables.identities.c.id, self._identities())
        yield from self._values(tables.runs.c.submitted_by, tables.runs.c.id, self.runs)
        yield from self._values(tables.studies.c.submitted_by, tables.studies.c.id, self.studies)
        yield from self._values(tables.quiz_players.c.nickname, tables.quiz_players.c.round_id, self.rounds)
        yield from sorted(self.connection.scalars(select(tables.progress.c.learner).distinct()))
        # Those who are not in the recording may still be in somebody's words.
        yield from self.connection.scalars(select(tables.identities.c.nickname).order_by(tables.identities.c.id))

    def _hosts(self) -> Iterator[str]:
        sessions, runs = tables.sessions.c, tables.runs.c
        for column, key, ids in (
            *((sessions[name], sessions.id, self.sessions) for name in ("machine", "placement", "site", "rank_map")),
            *((runs[name], runs.id, self.runs) for name in ("machine", "placement", "rank_map", "error")),
        ):
            for value in self._values(column, key, ids):
                yield from hosts_in(value)

    # Their contents

    def _rows(self, key: Column[Any], ids: Sequence[int], *order: Column[Any]) -> Iterator[Row]:
        """The rows of these numbers, in their order."""
        for some in _parts(ids):
            query = select(key.table).where(key.in_(some)).order_by(key, *order)
            for row in self.connection.execute(query):
                yield self._row(key.table, row._mapping)

    def _row(self, table: Any, row: RowMapping) -> Row:
        """A row in its recorded form."""
        changed = self._changed(table, row)
        return [
            changed[column.name] if column.name in changed else self._value(column, row[column.name])
            for column in columns_of(table)
        ]

    def _value(self, column: Column[Any], value: Any) -> Any:
        if value is None:
            return None
        if column in _OF_PEOPLE:
            return self.names.person(value)
        if column in _NAMES:
            return self.names.text(value, paths=False)[:40]
        if isinstance(column.type, tables.Json | tables.CleanText):  # a deck speaks of nobody's files
            return self.names.clean(value, paths=column is not tables.quiz_rounds.c.deck)
        return value

    def _changed(self, table: Any, row: RowMapping) -> dict[str, Any]:
        """Columns of a row that are other than in the store."""
        if table is tables.sessions:
            idle = {"conductor_pid": None, "heartbeat_at": None, "stop_requested": False, "reset_requested": False}
            site = {"kind": (row["site"] or {}).get("kind", "local")}
            up = self.names.clean(self._rank_map(row) or row["rank_map"])
            return {**idle, "state": RECORDED, "message": "", "site": site, "rank_map": up}
        if table is tables.studies:
            state = RECORDED if row["state"] == OPEN else row["state"]
            return {"runner": None, "heartbeat_at": None, "state": state}
        if table is tables.trials:
            return {"run_id": row["run_id"] if row["run_id"] in set(self.runs) else None}
        if table is tables.quiz_rounds:
            folder = Path(row["deck_folder"])
            return {"deck_folder": folder.name if folder.parent == config.labs_folder() else ""}
        return {}

    def _rank_map(self, session: RowMapping) -> Any:
        """Where a session's own ranks were, as its newest run on them tells; others are up only for their run."""
        runs = tables.runs.c
        of_session = (runs.session_id == session["id"], runs.rank_map.is_not(None))
        query = select(runs.placement, runs.rank_map).where(*of_session).order_by(runs.id.desc())
        for placement, rank_map in self.connection.execute(query):
            if placement == session["placement"]:
                return rank_map
        return None

    def _event_names(self) -> Iterator[Row]:
        numbers = {
            number
            for run in self.runs
            for number in self._values(tables.events.c.name_id, tables.events.c.run_id, [run], distinct=True)
        }
        names: set[str] = set()
        for row in self._rows(tables.names.c.id, sorted(numbers)):
            number, name = row
            new_name = name if name not in names else f"{name} ({number})"
            names.add(new_name)
            yield [number, new_name]

    def _batches(self) -> Iterator[Row]:
        """Which ranks told something; that nothing is missing was noted on the run."""
        for run in self.runs:
            for rank in sorted(self._values(tables.batches.c.rank, tables.batches.c.run_id, [run], distinct=True)):
                yield [run, rank, 1]

    def _events(self) -> Iterator[Row]:
        query = select(*columns_of(tables.events)).order_by(tables.events.c.id)
        for run in self.runs:
            of_run = query.where(tables.events.c.run_id == run)
            with self.connection.execute(of_run.execution_options(yield_per=AT_ONCE)) as rows:
                for row in rows:
                    yield list(row)

    def _blobs(self) -> Iterator[Row]:
        """Each file's contents once; remembers the owners for `artifacts`."""
        files, written = tables.artifacts.c, set[str]()
        for run in self.runs:
            names: set[str] = set()
            query = select(tables.artifacts).where(files.run_id == run).order_by(files.name)
            for row in self.connection.execute(query).all():
                if why := self._not_kept(row.name, row.size):
                    self._leave(why, 1)
                    continue
                content = select(tables.blobs.c.data).where(tables.blobs.c.sha256 == row.sha256)
                data = self.names.file(bytes(self.connection.scalars(content).one()))
                if data is None:
                    self._leave("files that are neither text nor PNG pictures", 1)  # they can't be searched for names
                    continue
                name, digest = self.names.text(row.name, paths=False), sha256(data).hexdigest()
                name = name if name not in names else f"{len(names)}-{name}"
                names.add(name)
                self._artifacts.append([run, name, row.media_type, digest, len(data), row.created_at])
                if digest not in written:
                    written.add(digest)
                    yield [digest, data]

    def _not_kept(self, name: str, size: int) -> str:
        if name.startswith(INPUTS):
            return "files that ranks were given"
        if name.endswith(GOING_ON):
            return "files that are only good for going on"
        return f"files over {self.largest / 2**20:g} MB" if size > self.largest else ""

    def _progress(self) -> Iterator[Row]:
        rows = self.connection.execute(select(tables.progress)).all()
        yield from sorted((self._row(tables.progress, row._mapping) for row in rows), key=lambda row: row[:4])

    def _values(self, column: Column[Any], key: Column[Any], ids: Sequence[int], distinct: bool = False) -> list[Any]:
        """A column's values of the rows of these numbers, in their order."""
        values: list[Any] = []
        for some in _parts(ids):
            query = select(column).where(and_(key.in_(some), column.is_not(None)))
            values += self.connection.scalars(query.distinct() if distinct else query.order_by(key))
        return values

    def _leave(self, what: str, count: int) -> None:
        if count:
            self._left[what] += count


def _key(table: Table) -> list[Column[Any]]:
    return list(table.primary_key.columns)


def _parts(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    return (numbers[first : first + SOME] for first in range(0, len(numbers), SOME))
