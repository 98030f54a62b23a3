"""The document of a recording: JSON lines in gzip, table by table.

The first line says what it is: `{"format": "workshop-recording", "version": 1, "store": 6, "recorded_at": 1.79e9,
"machine": "…"}`, times in seconds since the epoch. Each table begins with `{"table": "runs", "columns": [...]}`, its
rows follow as arrays in the order of these columns (bytes as base64), and `{"rows": 12}` ends it. The last line is
`{"end": true}`. Tables and columns mean what `workshop.store.tables` says; `SECRET` ones are not there.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import stat
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeGuard

from sqlalchemy import BigInteger, Boolean, Column, Double, Integer, LargeBinary, String, Table

from workshop.core.errors import BadInput
from workshop.store import tables

FORMAT, VERSION = "workshop-recording", 1
LARGEST_FILE = 256 << 20  # bytes, packed
LARGEST = 1 << 30  # bytes, unpacked
LARGEST_LINE = 96 << 20  # characters: an artifact of 64 MB as base64
MOST_VALUES = 200_000  # in a line: a machine of 2,048 units takes 30,000
DEEPEST = 40  # lists and objects in each other
LONGEST_NOTE = 300  # characters
LEVEL = 9  # of the compression: it is written once and read often
TABLES = (
    tables.identities, tables.sessions, tables.runs, tables.names, tables.batches, tables.events, tables.blobs,
    tables.artifacts, tables.studies, tables.trials, tables.guesses, tables.quiz_rounds, tables.quiz_players,
    tables.quiz_answers, tables.progress,
)  # fmt: skip
# Never in a recording.
SECRET = frozenset(
    {
        *(tables.identities.c[name] for name in ("token_hash", "let_in_at")),
        *(tables.identities.c[name] for name in ("seen_at", "action", "acted_at", "help_asked_at")),
        tables.quiz_rounds.c.code,
        tables.runs.c.activity,  # nobody needs it once a run has ended
    }
)
# What these JSON columns hold; pages take it for granted.
_OBJECTS = frozenset(
    {
        *(tables.sessions.c[name] for name in ("placement", "limits", "machine", "rank_map")),
        *(tables.runs.c[name] for name in ("params", "placement", "metrics")),
        *(tables.runs.c[name] for name in ("machine", "rank_map", "verdict", "error")),
        *(tables.trials.c[name] for name in ("params", "placement")),
        *(tables.quiz_rounds.c[name] for name in ("deck", "settings", "state")),
        tables.studies.c.description,
    }
)


_LISTS = frozenset({tables.runs.c.notices, tables.runs.c.progress})
LATEST = 2.5e11  # seconds since the epoch: years that a calendar has


@dataclass(frozen=True)
class Head:
    """The head of a recording."""

    recorded_at: float
    machine: str  # in words
    note: str = ""  # what else those have to know to whom it is shown


def columns_of(table: Table) -> list[Column[Any]]:
    """The columns of a table that a recording has."""
    return [column for column in table.c if column not in SECRET]


class RecordingWriter:
    """Writes a recording; `table` for each of `TABLES` in their order, then `end`."""

    def __init__(self, file: IO[bytes], head: Head) -> None:
        # Neither a name nor a time of the packing: the same rows are the same bytes.
        self._packed = gzip.GzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=file, mtime=0)
        self._line({"format": FORMAT, "version": VERSION, "store": tables.VERSION, **vars(head)})

    def table(self, table: Table, rows: Iterable[Sequence[Any]]) -> int:
        """Write a table's rows, with values in the order of `columns_of`. Returns their number."""
        self._line({"table": table.name, "columns": [column.name for column in columns_of(table)]})
        count = 0
        for row in rows:
            self._line([base64.b64encode(value).decode() if isinstance(value, bytes) else value for value in row])
            count += 1
        self._line({"rows": count})
        return count

    def end(self) -> None:
        self._line({"end": True})
        self._packed.close()

    def _line(self, value: Any) -> None:
        self._packed.write(json.dumps(value, separators=(",", ":")).encode() + b"\n")


class RecordingReader:
    """Reads a recording line by line and never unpacks more than `LARGEST`. Raises BadInput with one sentence for a
    file that isn't a recording or is damaged."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.name = name
        self._packed = gzip.GzipFile(fileobj=file, mode="rb")
        self._left = LARGEST
        self._number = 0
        self.head = self._read_head()

    def tables(self) -> Iterator[tuple[Table, Iterator[dict[str, Any]]]]:
        """The tables with their rows. Read a table's rows before you ask for the next table."""
        tables_by_name = {table.name: table for table in TABLES}
        for table in TABLES:
            begin = self._next()
            if not isinstance(begin, dict) or begin.get("table") != table.name:
                raise self._damaged(f"there should be the table {table.name}")
            yield table, self._rows(tables_by_name[table.name], begin.get("columns"))
        if self._next() != {"end": True} or self._read(1):  # behind the last line, gzip tells whether all was right
            raise self._damaged("there should be its end")

    def _rows(self, table: Table, names: Any) -> Iterator[dict[str, Any]]:
        columns = {column.name: column for column in columns_of(table)}
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self._damaged(f"the table {table.name} has no columns")
        lacking = [name for name, column in columns.items() if not column.nullable and name not in names]
        if lacking or set(names) - columns.keys() or len(set(names)) < len(names):
            raise self._damaged(f"the table {table.name} has other columns than {', '.join(columns)}")
        count = 0
        while isinstance(row := self._next(), list):
            if len(row) != len(names):
                raise self._damaged(f"a row of {table.name} has {len(row)} values in place of {len(names)}")
            yield {name: self._value(columns[name], value) for name, value in zip(names, row, strict=True)}
            count += 1
        if row != {"rows": count}:
            raise self._damaged(f"{table.name} should have ended after {count} rows")

    def _value(self, column: Column[Any], value: Any) -> Any:
        if value is None:
            if column.nullable:
                return None
        elif isinstance(column.type, tables.Json):
            json_type = dict if column in _OBJECTS else list if column in _LISTS else object
            if isinstance(value, json_type):
                return value
        elif isinstance(column.type, LargeBinary):
            return self._bytes(column, value)
        elif _fits(column, value):
            return value
        raise self._damaged(f"{column} can't be {json.dumps(value)[:40]}")

    def _bytes(self, column: Column[Any], value: Any) -> bytes:
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise self._damaged(f"{column} is no base64") from None

    def _read_head(self) -> Head:
        head = self._next()
        if not isinstance(head, dict) or head.get("format") != FORMAT:
            raise self._foreign()
        for what, supported in (("version", VERSION), ("store", tables.VERSION)):
            number = head.get(what)
            if not isinstance(number, int) or isinstance(number, bool) or number < 1:
                raise self._damaged(f"its {what} is {json.dumps(number)[:40]}")
            if number > supported:
                raise BadInput(
                    f"{self.name} was recorded by a newer version of the workshop ({what} {number}, this one reads "
                    f"{supported}), which is the one to show it with."
                )
        at, machine, note = head.get("recorded_at"), head.get("machine"), head.get("note", "")
        if not _is_time(at) or not _is_text(machine) or not _is_text(note):
            raise self._damaged("it doesn't say when and where it was recorded")
        return Head(float(at), machine[:200], note[:LONGEST_NOTE])

    def _next(self) -> Any:
        """The next line. Raises BadInput."""
        self._number += 1
        line = self._read(min(LARGEST_LINE, self._left) + 1)
        self._left -= len(line)
        if self._left < 0 or len(line) > LARGEST_LINE:
            raise BadInput(
                f"{self.name} is larger than a recording can be: {LARGEST >> 20} MB unpacked, and "
                f"{LARGEST_LINE >> 20} MB in a line."
            )
        if not line.endswith(b"\n"):
            raise self._unreadable("it ends in the middle")
        # Before anything is made of it: an empty list takes three characters here, and 60 bytes of memory.
        if sum(map(line.count, (b"[", b"{", b","))) > MOST_VALUES:
            raise self._unreadable(f"it has more than {MOST_VALUES:,} values")
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            raise self._unreadable("it is no JSON") from None
        if _too_deep(value):
            raise self._unreadable(f"it has more than {DEEPEST} lists and objects in each other")
        return value

    def _read(self, most: int) -> bytes:
        try:
            return self._packed.readline(most)
        except (OSError, EOFError, zlib.error):
            raise self._unreadable("it can't be unpacked") from None

    def _unreadable(self, why: str) -> BadInput:
        """A first line that can't be read was never one of ours."""
        return self._foreign() if self._number == 1 else self._damaged(why)

    def _foreign(self) -> BadInput:
        return BadInput(f"{self.name} is no recording of a workshop; `workshop record` makes one.")

    def _damaged(self, why: str) -> BadInput:
        return BadInput(f"The recording {self.name} is damaged at line {self._number}: {why}; get it once more.")


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """A file to read a recording from. Raises BadInput where there is none, or one that is too large."""
    with ExitStack() as stack:
        try:
            file_status = path.stat()
            if not stat.S_ISREG(file_status.st_mode):  # a pipe would be waited for
                raise BadInput(f"{path} is no file; give the file of a recording.")
            file = stack.enter_context(open(path, "rb"))
        except OSError as error:
            raise BadInput(f"{path} can't be read ({error.strerror}); give the file of a recording.") from None
        if file_status.st_size > LARGEST_FILE:
            raise BadInput(
                f"{path} has {file_status.st_size >> 20} MB; a recording has at most {LARGEST_FILE >> 20} MB."
            )
        yield file


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for node in level
            if isinstance(node, list | dict)
            for inner in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return False
    return True


def _fits(column: Column[Any], value: Any) -> bool:
    """Whether a value is of a column's type."""
    match column.type:
        case Boolean():
            return isinstance(value, bool)
        case Integer():
            bits = 63 if isinstance(column.type, BigInteger) else 31
            return isinstance(value, int) and not isinstance(value, bool) and -(2**bits) <= value < 2**bits
        case Double():
            number = isinstance(value, float) or (type(value) is int and abs(value) < 2**1023)
            return number and (not column.name.endswith("_at") or 0 <= value < LATEST)
        case tables.Key():
            return isinstance(value, str) and len(value) <= column.type.length
        case String(length=length):  # which a database takes as it is, other than `tables.CleanText`
            return _is_text(value) and (length is None or len(value) <= length)
    return isinstance(value, str)


def _is_time(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < LATEST


def _is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and not any(
        character == "\0" or "\ud800" <= character <= "\udfff" for character in value
    )
