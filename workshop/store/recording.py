"""Recordings: sessions of a store as one document without names or secrets, and a store made from such a document.

A recording has ended sessions with their runs, events and files, studies, guesses, rounds of quizzes, and progress. It
has no settings, tokens, codes, queues. It has no files that only serve to continue a run, and none in which
names can't be searched, which is everything but text and PNG pictures. People become learner-1, learner-2, …, hosts
node-1, …, paths the names of their files (`workshop.store.anonymous`).
"""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import IO, Any

from sqlalchemy import Connection, Table, func, select, text
from sqlalchemy.exc import IntegrityError

from workshop.core import config
from workshop.core.errors import BadInput
from workshop.store import tables
from workshop.store.read_only import RecordingOrigin, mark, recorded
from workshop.store.recording_file import LONGEST_NOTE, Head, RecordingReader, RecordingWriter, opened
from workshop.store.recording_selection import LARGEST, RECORDED, RecordingSelection
from workshop.store.records import ENDED
from workshop.store.store import Store

ROWS = 2000  # that are written at once
_STUDIES = frozenset({"completed", "failed", RECORDED})


def record(
    store: Store,
    sessions: Sequence[str],
    file: IO[bytes],
    *,
    terms: Collection[str] = (),
    largest: int = LARGEST,
    note: str = "",
) -> list[str]:
    """Write a recording of these sessions, and of what the class did beside them; returns in words what was left out.

    `terms` are words that are no names in texts; files of runs over `largest` bytes are left out; `note` is a sentence
    for everybody to whom it is shown. Raises BadInput for a session that isn't there, and a note that is too long.
    """
    before = recorded(store.database)
    with store.database.reading() as connection:
        chosen = RecordingSelection(
            connection, sessions, terms, _folders(), [socket.gethostname(), socket.getfqdn()], largest
        )
        head = Head(before.at, before.machine) if before else Head(time.time(), chosen.machine())
        head = replace(head, note=_checked(note) or (before.note if before else ""))
        writer = RecordingWriter(file, head)
        for table, rows in chosen.tables():
            writer.table(table, rows)
        writer.end()
        return chosen.left_out()


def _checked(note: str) -> str:
    """The note in one line. Raises BadInput."""
    line = " ".join(note.split())
    if len(line) > LONGEST_NOTE:
        raise BadInput(f"The note has {len(line)} characters; at most {LONGEST_NOTE} fit on a page.")
    return line


def _folders() -> list[str]:
    """Beginnings of paths on this machine, which may have spaces in them."""
    return [str(folder) for folder in (config.home(), config.app_folder().parent, Path.home(), Path.cwd())]


def load(path: Path, store: Store) -> RecordingOrigin:
    """Fill an empty store with a recording, ids and all. Raises BadInput for a store that isn't empty, and for a file
    that is no recording, damaged, or newer than this program; the store stays empty then."""
    with opened(path) as file:
        reader = RecordingReader(file, path.name)
        origin = RecordingOrigin(reader.head.recorded_at, reader.head.machine, reader.head.note)
        try:
            with store.database.writing() as connection:
                _check_empty(connection, store.where)
                for table, rows in reader.tables():
                    _fill(connection, table, rows, path.name)
                mark(connection, origin)
        except IntegrityError:
            raise _damaged(path.name, "its parts don't fit together") from None
    return origin


def _check_empty(connection: Connection, where: str) -> None:
    for table in (tables.sessions, tables.identities, tables.settings, tables.quiz_rounds, tables.progress):
        if connection.scalar(select(func.count()).select_from(table)):
            raise BadInput(f"The store {where} isn't empty; a recording is shown in one of its own.")


def _fill(connection: Connection, table: Table, rows: Iterator[dict[str, Any]], name: str) -> None:
    highest = 0
    while some := [_as_kept(table, row, name) for row in islice(rows, ROWS)]:
        connection.execute(table.insert(), some)
        highest = max([highest, *(row["id"] for row in some if isinstance(row.get("id"), int))])
    if highest and connection.dialect.name == "postgresql" and table.c.id.primary_key and len(table.primary_key) == 1:
        # Numbers that were given don't count there, and the next one would be taken.
        sequence = {"table": table.name, "highest": highest}
        connection.execute(text("SELECT setval(pg_get_serial_sequence(:table, 'id'), :highest)"), sequence)


def _as_kept(table: Table, row: dict[str, Any], name: str) -> dict[str, Any]:
    """A row of a recording as the store has it. Raises BadInput for one that nobody could have recorded."""
    if table is tables.identities:
        return {**row, "token_hash": sha256(secrets.token_bytes(32)).hexdigest()}  # nobody comes in by it
    if table is tables.sessions and row["state"] != RECORDED:
        raise _damaged(name, f"session {row['id']} is {row['state']!r}, not {RECORDED}")
    if table is tables.runs and row["status"] not in ENDED:
        raise _damaged(name, f"run {row['id']} is {row['status']!r}, and has not ended")
    if table is tables.studies and row["state"] not in _STUDIES:
        raise _damaged(name, f"study {row['id']} is {row['state']!r}")
    if table is tables.blobs and sha256(row["data"]).hexdigest() != row["sha256"]:
        raise _damaged(name, f"the file {row['sha256'][:12]} has other contents")
    if table is tables.quiz_rounds:
        return {**row, "code": None, "deck_folder": _deck_folder(row["deck_folder"])}
    return row


def _deck_folder(name: str) -> str:
    """Where the pictures of a lab's deck are on this machine; recordings name the lab."""
    folders = {folder.name: str(folder) for folder in config.labs_folder().iterdir() if folder.is_dir()}
    return folders.get(name, "")


def _damaged(name: str, why: str) -> BadInput:
    return BadInput(f"The recording {name} is damaged: {why}; get it once more.")
