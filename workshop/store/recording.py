"""Recordings: a copy of the store with some sessions, in SQLite's format and gzip, without names or secrets.

A recording has ended sessions with their runs, events, pictures and figures, studies, guesses, rounds of quizzes, and
progress. It has no settings, tokens, codes, queues; no texts that ranks wrote, and no files that they were given, since
these may hold names and paths. People become learner-1, learner-2, …, hosts node-1, ….
"""

from __future__ import annotations

import gzip
import itertools
import json
import re
import secrets
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, false, func, or_, select, true

from workshop.core import config
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.words import count
from workshop.store import tables
from workshop.store.records import ENDED
from workshop.store.sessions import RecordingOrigin, mark, recorded
from workshop.store.store import Store
from workshop.store.studies import OPEN

RECORDED = "recorded"  # the state of sessions and studies that nobody works on any more
ROWS = 2000  # that are copied at once
KINDS = ("image/png", "application/json")  # of files of runs that are recorded
LARGEST_FILE = 1 << 20  # bytes of such a file
LONGEST_NOTE = 300  # characters
NODE = "node-"
NOBODY = frozenset({"", tables.INSTRUCTOR, "root", "jovyan"})  # accounts that say nothing of anybody
_FOLDER = re.compile(r"(?<![\w./-])~?/(?:[^\s/'\"`<>|:;,()\[\]{}]+/)+")
_PEOPLE = {  # columns that hold a person's name alone
    tables.identities: "nickname",
    tables.runs: "submitted_by",
    tables.studies: "submitted_by",
    tables.quiz_players: "nickname",
    tables.progress: "learner",
}
_SENTENCES = {  # columns in which people may be named, too
    tables.runs: ("error", "verdict", "notices", "activity"),
    tables.names: ("name",),
    tables.quiz_answers: ("answer",),
    tables.guesses: ("value",),
    tables.progress: ("said",),
}
_PLACES = {  # columns in which hosts and paths may be named
    tables.sessions: ("placement", "machine", "rank_map"),
    tables.runs: ("params", "placement", "machine", "rank_map", "metrics"),
    tables.studies: ("description",),
    tables.trials: ("params", "placement", "point"),
}


def record(store: Store, sessions: Sequence[str], file: Path, note: str = "") -> list[str]:
    """Write a recording of these sessions, and of what the class did beside them; returns in words what was left out.

    `note` is a sentence for everybody to whom it is shown. Raises BadInput for a session that isn't there, and a note
    that is too long.
    """
    note = " ".join(note.split())
    if len(note) > LONGEST_NOTE:
        raise BadInput(f"The note has {len(note)} characters; at most {LONGEST_NOTE} fit on a page.")
    before = recorded(store.database)
    with tempfile.TemporaryDirectory(dir=file.absolute().parent) as folder, store.database.reading() as source:
        selection = _Selection.choose(source, sessions)
        copied = Path(folder) / "recording.db"
        with Store.open(f"sqlite:///{copied}") as copy, copy.database.writing() as target:
            origin = before or RecordingOrigin(time.time(), selection.machine(source))
            mark(target, replace(origin, note=note or origin.note))
            for table, condition in selection.tables().items():
                rows = source.execute(select(table).where(condition).execution_options(yield_per=ROWS)).mappings()
                for some in rows.partitions(ROWS):
                    target.execute(table.insert(), [selection.changed(table, dict(row)) for row in some])
            blob = select(func.length(tables.blobs.c.data)).where(tables.blobs.c.sha256 == tables.artifacts.c.sha256)
            target.execute(tables.artifacts.update().values(size=blob.scalar_subquery()))
            left_out = selection.left_out(source, target)
        with closing(sqlite3.connect(copied)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")  # one file
            connection.execute("VACUUM")
        with open(copied, "rb") as data, gzip.open(file, "wb") as packed:
            shutil.copyfileobj(data, packed)
    return left_out


def load(path: Path, file: Path) -> None:
    """Unpack a recording into a new SQLite file that a store opens. Raises BadInput for a file that is no recording,
    damaged, or newer than this program."""
    other = BadInput(f"{path} is no recording of a workshop; `workshop record` makes one.")
    try:
        with gzip.open(path) as packed, open(file, "wb") as data:
            shutil.copyfileobj(packed, data)
    except gzip.BadGzipFile:
        raise other from None
    except EOFError:
        raise BadInput(f"The recording {path} is damaged: it ends in the middle; get it once more.") from None
    except OSError as error:
        raise BadInput(f"{path} can't be read ({error.strerror or error}); give a recording.") from None
    try:
        with Store.open(f"sqlite:///{file}") as store:
            if recorded(store.database) is None:
                raise other
            with store.database.writing() as connection:
                for round_id, folder in connection.execute(select(_rounds.id, _rounds.deck_folder)).all():
                    here = str(config.labs_folder() / Path(folder).name) if folder else ""
                    this = tables.quiz_rounds.update().where(_rounds.id == round_id)
                    connection.execute(this.values(deck_folder=here))
    except BadInput:
        raise
    except WorkshopError as error:  # of SQLite
        raise BadInput(f"The recording {path} is damaged ({error}); get it once more.") from None


_rounds = tables.quiz_rounds.c


@dataclass(frozen=True)
class _Selection:
    """The rows of a store that a recording gets, and what is changed in them."""

    sessions: list[int]
    runs: list[int]
    studies: list[int]
    rank_maps: Mapping[int, Any]  # by session, where its own ranks were
    people: Mapping[str, str]
    hosts: Mapping[str, str]

    @classmethod
    def choose(cls, source: Connection, names: Sequence[str]) -> _Selection:
        """The selection for these sessions. Raises BadInput for an unknown one."""
        numbers = dict(source.execute(select(tables.sessions.c.name, tables.sessions.c.id)).all())
        for name in names:
            if name not in numbers:
                existing = f"there are {', '.join(sorted(numbers))}" if numbers else "there are none yet"
                raise BadInput(f"There is no session {name!r} to record; {existing}.")
        chosen = sorted({numbers[name] for name in names})
        runs = tables.runs.c
        ended = select(runs.id).where(runs.session_id.in_(chosen), runs.status.in_(ENDED)).order_by(runs.id)
        here, elsewhere = (
            set(source.scalars(select(tables.trials.c.study_id).join(tables.runs).where(where)))
            for where in (runs.id.in_(ended), runs.session_id.not_in(chosen))
        )
        rank_maps: dict[int, Any] = {}
        of_session = select(runs.session_id, runs.rank_map).join(tables.sessions).order_by(runs.id)
        for session, rank_map in source.execute(of_session.where(runs.placement == tables.sessions.c.placement)):
            rank_maps[session] = rank_map or rank_maps.get(session)
        queries = (select(table.c[column]).order_by(*table.primary_key.columns) for table, column in _PEOPLE.items())
        people = (name for query in queries for name in source.scalars(query))
        values = (source.scalars(select(table.c[column])) for table, columns in _PLACES.items() for column in columns)
        hosts = _numbered(NODE, (host for column in values for value in column for host in _hosts_in(value)))
        return cls(
            chosen,
            list(source.scalars(ended)),
            sorted(here - elsewhere),
            rank_maps,
            _numbered("learner-", (name for name in people if name not in NOBODY)),
            {host.partition(".")[0]: new for host, new in hosts.items()} | hosts,  # messages name short ones
        )

    def tables(self) -> dict[Table, ColumnElement[bool]]:
        """The condition for the rows of each recorded table, in an order in which rows come after those they name."""
        runs, studies = tables.runs.c.id.in_(self.runs), self.studies
        files = tables.artifacts.c
        file = files.run_id.in_(self.runs) & files.media_type.in_(KINDS) & (files.size <= LARGEST_FILE)
        file &= files.name.not_like("input/%")
        ended = (_rounds.kind != "live") | _rounds.ended_at.is_not(None)
        rounds = select(_rounds.id).where(ended)
        about = [tables.guesses.c.about.like(f"study/{study}/%") for study in studies]
        return {
            tables.identities: true(),
            tables.sessions: tables.sessions.c.id.in_(self.sessions),
            tables.runs: runs,
            tables.names: true(),
            tables.batches: tables.batches.c.run_id.in_(self.runs),
            tables.events: tables.events.c.run_id.in_(self.runs),
            tables.blobs: tables.blobs.c.sha256.in_(select(files.sha256).where(file)),
            tables.artifacts: file,
            tables.studies: tables.studies.c.id.in_(studies),
            tables.trials: tables.trials.c.study_id.in_(studies),
            tables.guesses: or_(false(), *about),
            tables.quiz_rounds: ended,
            tables.quiz_players: tables.quiz_players.c.round_id.in_(rounds),
            tables.quiz_answers: tables.quiz_answers.c.round_id.in_(rounds),
            tables.progress: true(),
        }

    def changed(self, table: Table, row: dict[str, Any]) -> dict[str, Any]:
        """A row without names and secrets."""
        if column := _PEOPLE.get(table):
            row[column] = self.people.get(row[column], row[column])
        for column in _SENTENCES.get(table, ()):
            row[column] = _replaced(row[column], {**self.hosts, **self.people})
        for column in _PLACES.get(table, ()):
            row[column] = _replaced(row[column], self.hosts)
        if table is tables.identities:
            row |= dict.fromkeys(("let_in_at", "seen_at", "action", "acted_at", "help_asked_at"))
            row["token_hash"] = sha256(secrets.token_bytes(32)).hexdigest()  # nobody comes in by it
        elif table is tables.sessions:
            row |= {"conductor_pid": None, "heartbeat_at": None, "stop_requested": False, "reset_requested": False}
            row |= {"state": RECORDED, "message": "", "site": {"kind": (row["site"] or {}).get("kind", "local")}}
            row["rank_map"] = _replaced(self.rank_maps.get(row["id"]), self.hosts) or row["rank_map"]
        elif table is tables.runs and row["error"]:
            row["error"] = {**row["error"], "traceback": ""}
        elif table is tables.blobs:
            for host, new in self.hosts.items():  # in JSON files; our pictures name nobody
                row["data"] = row["data"].replace(json.dumps(host).encode(), json.dumps(new).encode())
        elif table is tables.studies:
            row |= {"runner": None, "heartbeat_at": None}
            row["state"] = RECORDED if row["state"] == OPEN else row["state"]
        elif table is tables.trials:
            row["run_id"] = row["run_id"] if row["run_id"] in self.runs else None
        elif table is tables.quiz_rounds:
            folder = Path(row["deck_folder"])
            row |= {"code": None, "deck_folder": folder.name if folder.parent == config.labs_folder() else ""}
        return row

    def machine(self, source: Connection) -> str:
        """The machine of the first session, in words."""
        description = source.scalar(select(tables.sessions.c.machine).where(tables.sessions.c.id == self.sessions[0]))
        cores = len({unit["core"] for unit in (description or {}).get("units") or []})
        model = (description or {}).get("model")
        return f"a machine with {count(cores, 'core')}" + (f" ({model})" if model else "")

    def left_out(self, source: Connection, target: Connection) -> list[str]:
        """The parts that the recording leaves out, in words."""

        def rows(connection: Connection, table: Table, *where: ColumnElement[bool]) -> int:
            return len(connection.execute(select(*table.primary_key.columns).where(*where)).all())

        of_sessions = tables.runs.c.session_id.in_(self.sessions)
        of_runs = tables.artifacts.c.run_id.in_(self.runs)
        missing = {
            "runs that had not ended": rows(source, tables.runs, of_sessions) - len(self.runs),
            "files of runs": rows(source, tables.artifacts, of_runs) - rows(target, tables.artifacts),
            "studies with runs in other sessions": rows(source, tables.studies) - len(self.studies),
            "guesses about other things": rows(source, tables.guesses) - rows(target, tables.guesses),
            "rounds of quizzes that go on": rows(source, tables.quiz_rounds) - rows(target, tables.quiz_rounds),
        }
        counted = [f"{what}: {number}" for what, number in missing.items() if number]
        return ["settings, ways in and codes of the class", *counted]


def _hosts_in(value: Any) -> Iterator[str]:
    """The names of hosts in a JSON value as we keep them: placements, rank maps, machines."""
    if isinstance(value, Mapping):
        for key, member in value.items():
            if key == "host" and isinstance(member, str):
                yield member
            elif key == "hosts" and isinstance(member, list | tuple):
                yield from (host["name"] if isinstance(host, Mapping) else host for host in member)
            else:
                yield from _hosts_in(member)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from _hosts_in(member)


def _numbered(prefix: str, names: Iterable[str]) -> dict[str, str]:
    """Another name for each name, in the order of their appearance. Names of that form stay as they are."""
    distinct = list(dict.fromkeys(names))
    free = (name for number in itertools.count(1) if (name := f"{prefix}{number}") not in distinct)
    return {name: next(free) for name in distinct if not re.fullmatch(rf"{prefix}\d+", name)}


def _replaced(value: Any, new: Mapping[str, str]) -> Any:
    """A JSON value with other names in its texts, and files without their folders."""
    if isinstance(value, str):
        if value in new:
            return new[value]
        if new and " " in value:
            longest_first = "|".join(map(re.escape, sorted(new, key=len, reverse=True)))
            value = re.sub(rf"(?<!\w)(?:{longest_first})(?!\w)", lambda match: new[match[0]], value)
        return _FOLDER.sub("", value)
    if isinstance(value, Mapping):
        hosts = {key: new[key] for key in value if new.get(key, "").startswith(NODE)}
        return {hosts.get(key, key): _replaced(member, new) for key, member in value.items()}
    return [_replaced(member, new) for member in value] if isinstance(value, list | tuple) else value
