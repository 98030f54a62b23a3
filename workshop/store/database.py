"""Opening a database and talking to it: SQLite in WAL mode, or PostgreSQL by URL, with the same promises.

One writer at a time on either, so a method that reads, decides and writes is never interleaved with another one:
SQLite by BEGIN IMMEDIATE, PostgreSQL by a lock that ends with the transaction. Readers wait for nobody.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import (
    URL,
    Column,
    Connection,
    Engine,
    Index,
    Insert,
    Row,
    Select,
    Table,
    create_engine,
    event,
    inspect,
    make_url,
    text,
)
from sqlalchemy.exc import ArgumentError, DatabaseError, DataError, DBAPIError, IntegrityError, ProgrammingError

from workshop.core.disk import NEEDED, NoRoom
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.memory import size
from workshop.store import tables

BUSY = 10.0  # seconds to wait for another writer
FULL = "has no room left"
CONNECT = 5  # seconds to wait for a PostgreSQL server
WRITTEN = "workshop_written"  # PostgreSQL's channel on which each writing transaction is told
WRITERS_LOCK = 7_019_426_115  # any number that nobody else uses in this database


def inserted(connection: Connection, row: Insert) -> int:
    """Insert a row; returns its id."""
    key = connection.execute(row).inserted_primary_key
    assert key is not None, "one row was inserted"
    number: int = key[0]
    return number


class Changes:
    """Tells whether somebody has written to a store, at a small part of what it costs to read a table.

    SQLite counts commits of other connections, PostgreSQL notifies of each writing transaction.
    """

    def __init__(self, url: URL) -> None:
        self._url = url
        self._sqlite = url.get_backend_name() == "sqlite"
        self._connection: Any = None  # of the database's own driver
        self._commits = 0

    def any(self) -> bool:
        """Whether anything was written since the last call; True at the first one, and where the database doesn't
        answer, which whoever reads it then says."""
        try:
            fresh = self._connection is None
            if fresh:
                self._connection = self._connect()
            if not self._sqlite:
                return bool(list(self._connection.notifies(timeout=0))) or fresh
            before, (self._commits,) = self._commits, self._connection.execute("PRAGMA data_version").fetchone()
            return self._commits != before or fresh
        except Exception:  # of either driver
            self.close()
            return True

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self) -> Any:
        if self._sqlite:
            return sqlite3.connect(str(self._url.database), timeout=BUSY)
        import psycopg

        address = self._url.set(drivername="postgresql").render_as_string(hide_password=False)
        connection = psycopg.connect(address, autocommit=True, connect_timeout=CONNECT)
        connection.execute(f"LISTEN {WRITTEN}")
        return connection


class Database:
    """A database with our tables. `reading` and `writing` are short transactions on a connection of the pool."""

    def __init__(self, url: str) -> None:
        self.url = _parse(url)
        self._engine = _sqlite(self.url) if self.url.get_backend_name() == "sqlite" else _postgresql(self.url)
        self._writer = self._engine.execution_options(writes=True)
        self._durable = self._engine.execution_options(writes=True, durable=True)
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._engine.dispose()

    def changes(self) -> Changes:
        """What tells whether anybody has written to this store; the caller closes it."""
        return Changes(self.url)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the store. Raises WorkshopError where the database doesn't answer."""
        with self._worded(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self, durable: bool = False) -> Iterator[Connection]:
        """The only writing transaction of the moment. A `durable` one also survives a power cut; the others survive
        only the end of a process. Raises WorkshopError where the database doesn't answer."""
        with self._worded(), (self._durable if durable else self._writer).begin() as connection:
            yield connection

    def by_id(self, query: Select[Any], number: int) -> Row[Any] | None:
        """The row for which the query's parameter `wanted` is this id; None without one."""
        if not 0 < number < 2**31:  # PostgreSQL's integers end there
            return None
        with self.reading() as connection:
            return connection.execute(query, {"wanted": number}).first()

    @contextmanager
    def _worded(self) -> Iterator[None]:
        """Say in one sentence that a database is full, locked, damaged or gone; other errors pass."""
        try:
            yield
        except (DataError, IntegrityError, ProgrammingError):
            raise
        except DBAPIError as error:
            words = self._words(error)
            raise (NoRoom if FULL in words else WorkshopError)(words) from None

    @property
    def where(self) -> str:
        """The file, or the server and database without anything secret."""
        if self.url.get_backend_name() == "sqlite":
            return str(self.url.database)
        query = {key: value for key, value in self.url.query.items() if key in ("host", "port")}
        return self.url.set(drivername="postgresql", query=query).render_as_string(hide_password=True)

    def _words(self, error: DBAPIError) -> str:
        """The message of a database, as one sentence."""
        message = " ".join(str(error.orig).split()).rstrip(".")
        sqlite = self.url.get_backend_name() == "sqlite"
        if sqlite and ("not a database" in message or "malformed" in message):
            fix = f"is damaged or not a store ({message}); move the file away, or restore it from a copy"
        elif sqlite and ("readonly" in message or "unable to open" in message):
            fix = f"can't be written ({message}); set WORKSHOP_HOME to a folder of your own on a local disk"
        elif "full" in message or "No space left" in message:
            fix = f"{FULL} ({message}); free {size(NEEDED)} on its disk"
        elif sqlite:
            fix = f"doesn't answer ({message}); see who else uses it"
        elif "permission denied" in message:
            fix = f"can't be used ({message}); give its user a database of their own"
        else:
            fix = f"doesn't answer ({message}); see that the server runs and that WORKSHOP_DATABASE_URL is right"
        return f"The store {self.where} {fix}."

    def _prepare(self) -> None:
        """Create the tables, or see that they are ours. Raises BadInput with one sentence."""
        try:
            if self.url.get_backend_name() == "sqlite":
                self._use_wal()
            with self._engine.begin() as connection:
                if self._version(connection) == tables.VERSION:
                    return
            with self._writer.begin() as connection:
                self._create(connection)
        except DBAPIError as error:
            raise BadInput(self._words(error)) from None

    def _create(self, connection: Connection) -> None:
        version = self._version(connection)
        if version is None:
            others = set(inspect(connection).get_table_names()) & set(tables.metadata.tables)
            if others:
                raise BadInput(
                    f"The database {self.where} has tables of something else ({', '.join(sorted(others))}); give the "
                    "workshop one of its own."
                )
            tables.metadata.create_all(connection)
            connection.execute(tables.spans.insert(), [{"n": n} for n in range(tables.SPANS)])
            connection.execute(tables.schema.insert().values(version=tables.VERSION))
        elif version < tables.VERSION:
            self._bring_up_to_date(connection, version)
        elif version > tables.VERSION:
            raise BadInput(
                f"The store {self.where} has version {version}, this program reads version {tables.VERSION}: "
                "it was written by a newer version of the workshop, which is the one to use with it."
            )

    def _bring_up_to_date(self, connection: Connection, stored_version: int) -> None:
        """Add the tables, columns and indexes that an older store lacks, and drop those that are gone; what else it
        holds stays."""
        new = [part for version, parts in tables.SINCE.items() if version > stored_version for part in parts]
        missing = [part for part in new if isinstance(part, Table)]
        tables.metadata.create_all(connection, missing)
        for part in new:
            if isinstance(part, Column) and part.table not in missing:  # those just made are whole
                kind = part.type.compile(connection.dialect)
                connection.execute(text(f"ALTER TABLE {part.table.name} ADD COLUMN {part.name} {kind}"))
            elif isinstance(part, Index):
                part.create(connection)
        for name in (name for version, names in tables.UNTIL.items() if version > stored_version for name in names):
            connection.execute(text(f"DROP TABLE IF EXISTS {name}"))
        if stored_version < 9:  # since then the progress of this machine's root has no login name
            of_root = tables.progress.update().where(tables.progress.c.learner == "root")
            connection.execute(of_root.values(learner=tables.INSTRUCTOR))
        connection.execute(tables.schema.update().values(version=tables.VERSION))

    @staticmethod
    def _version(connection: Connection) -> int | None:
        """The version of the tables, None where there are none."""
        if not inspect(connection).has_table(tables.schema.name):
            return None
        return connection.scalar(tables.schema.select())

    def _use_wal(self) -> None:
        """WAL is a property of the file. Changing to it doesn't wait for others who do the same, hence the loop."""
        deadline = time.monotonic() + BUSY
        while True:
            try:
                with closing(self._engine.raw_connection()) as connection:
                    (mode,) = connection.cursor().execute("PRAGMA journal_mode = WAL").fetchone()
            except sqlite3.DatabaseError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise DatabaseError("PRAGMA journal_mode", None, error) from error
                time.sleep(0.02)
                continue
            if mode != "wal":
                raise BadInput(
                    f"The store {self.where} can't use a write-ahead log there; set WORKSHOP_HOME to a folder on a "
                    "local disk, or WORKSHOP_DATABASE_URL to a PostgreSQL database."
                )
            return


def _parse(url: str) -> URL:
    """The URL of a database that we can use. Raises BadInput; never repeats the URL, which may hold a password."""
    right = "it should be like sqlite:////folder/workshop.db or postgresql://user@host/database"
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise BadInput(f"The database URL can't be read; {right}.") from None
    if parsed.get_backend_name() == "sqlite":
        if not parsed.database or parsed.database == ":memory:":
            raise BadInput(f"The database URL names no file, and memory can't be shared between processes; {right}.")
        return parsed
    if "@" in (parsed.host or ""):
        # What is before it is the end of the password, and would be told as a host that can't be found.
        raise BadInput("The database URL has an @ in its password; write it as %40.")
    if parsed.get_backend_name() in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    raise BadInput(f"The database URL starts with {parsed.drivername!r}; {right}.")


def _sqlite(url: URL) -> Engine:
    """An engine on a SQLite file. Raises BadInput where such a file can't be kept."""
    file = Path(url.database or "").expanduser().absolute()
    if kind := network_filesystem(file.parent):
        raise BadInput(
            f"{file.parent} is on a network file system ({kind}), where SQLite loses data; set WORKSHOP_HOME to a "
            "folder on a local disk (for instance under /tmp or /var/tmp), or WORKSHOP_DATABASE_URL to a PostgreSQL "
            "database."
        )
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.access(file.parent, os.W_OK):
            file.touch(mode=0o600)  # class codes and photos are nobody else's; SQLite's other files follow this one
    except OSError as error:
        raise BadInput(
            f"The store's folder {file.parent} can't be made ({error.strerror}); set WORKSHOP_HOME to a folder of your "
            "own on a local disk."
        ) from None
    engine = create_engine(url.set(database=str(file)), connect_args={"timeout": BUSY}, max_overflow=40)

    @event.listens_for(engine, "connect")
    def _connected(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions begin below, not where the driver thinks they should
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        options = connection.get_execution_options()
        if options.get("writes"):
            # It is the connection's, and can't be changed within a transaction.
            connection.exec_driver_sql(f"PRAGMA synchronous = {'FULL' if options.get('durable') else 'NORMAL'}")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("writes") else "BEGIN")

    return engine


def _postgresql(url: URL) -> Engine:
    connect = {} if "connect_timeout" in url.query else {"connect_timeout": CONNECT}
    engine = create_engine(url, connect_args=connect, pool_pre_ping=True, max_overflow=40)

    @event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        if connection.get_execution_options().get("writes"):
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": WRITERS_LOCK})
            connection.execute(text(f"NOTIFY {WRITTEN}"))  # sent when the transaction is committed

    return engine


# Processes on them don't share memory-mapped pages or locks reliably, which SQLite's write-ahead log lives on.
NETWORK = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|lustre|gpfs|beegfs\w*|ceph|glusterfs|afs|ncpfs|9p|panfs|pvfs2|orangefs|wekafs|davfs"
    r"|fuse\.(sshfs|glusterfs|ceph\w*|s3fs|rclone|davfs2?|cernvmfs|beegfs\w*|gvfs\w*|juicefs|gcsfuse)"
)


def network_filesystem(path: Path) -> str | None:
    """The type of the network file system of `path`, which may not exist yet. None for a local one."""
    place = path.resolve()
    mounts = [mount for mount in psutil.disk_partitions(all=True) if place.is_relative_to(mount.mountpoint)]
    # Of two mounts on one point the later hides the earlier.
    kind = max(reversed(mounts), key=lambda mount: len(mount.mountpoint)).fstype if mounts else ""
    return kind if NETWORK.fullmatch(kind) else None
