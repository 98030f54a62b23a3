"""Artifacts in the store: files of runs. Equal contents are kept once."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from sqlalchemy import Connection, Row, select

from workshop.core.errors import BadInput
from workshop.store.database import Database
from workshop.store.records import Artifact
from workshop.store.tables import artifacts, blobs, runs

LARGEST_ARTIFACT = 64 << 20  # bytes


class Artifacts:
    """Files that runs made or were given."""

    database: Database

    def put_artifact(self, run_id: int, name: str, media_type: str, data: bytes, former: Sequence[str] = ()) -> None:
        """Keep a file with a run; it replaces one of the same name. With `former`, the replaced file gets the first of
        these names, the file of that name the second, and so on; the last one goes. Raises BadInput over 64 MB."""
        with self.database.writing() as connection:
            if connection.scalar(select(runs.c.id).where(runs.c.id == run_id)) is None:
                raise BadInput(f"There is no run {run_id}.")
            put(connection, run_id, name, media_type, data, former)

    def artifact(self, run_id: int, name: str) -> Artifact:
        """One file of a run, with its data. Raises BadInput naming those there are."""
        query = select(artifacts, blobs.c.data).join_from(artifacts, blobs)
        with self.database.reading() as connection:
            row = connection.execute(query.where(artifacts.c.run_id == run_id, artifacts.c.name == name)).first()
        if row is not None:
            return _record(row, bytes(row.data))
        names = ", ".join(artifact.name for artifact in self.artifacts(run_id)) or "none"
        raise BadInput(f"Run {run_id} has no artifact {name!r}; it has {names}.")

    def artifacts(self, run_id: int) -> list[Artifact]:
        """A run's files in the order of their names, without their data."""
        query = select(artifacts).where(artifacts.c.run_id == run_id).order_by(artifacts.c.name)
        with self.database.reading() as connection:
            return [_record(row) for row in connection.execute(query)]


def put(
    connection: Connection, run_id: int, name: str, media_type: str, data: bytes, former: Sequence[str] = ()
) -> None:
    """Keep a file, within a transaction of somebody else's. Raises BadInput over 64 MB."""
    if len(data) > LARGEST_ARTIFACT:
        raise BadInput(
            f"The artifact {name!r} of run {run_id} has {len(data) / 2**20:.1f} MB; at most "
            f"{LARGEST_ARTIFACT >> 20} MB can be kept."
        )
    digest = hashlib.sha256(data).hexdigest()
    if connection.scalar(select(blobs.c.sha256).where(blobs.c.sha256 == digest)) is None:
        connection.execute(blobs.insert().values(sha256=digest, data=data))
    this = (artifacts.c.run_id == run_id, artifacts.c.name == name)
    before = connection.scalar(select(artifacts.c.sha256).where(*this))
    if former and before not in (None, digest):  # the same file again is a message that came twice
        _rename(connection, run_id, (name, *former))
        before = None
    values = {"media_type": media_type, "sha256": digest, "size": len(data), "created_at": time.time()}
    if before is None:
        connection.execute(artifacts.insert().values(run_id=run_id, name=name, **values))
        return
    connection.execute(artifacts.update().where(*this).values(**values))
    _delete_unused(connection, before)


def _rename(connection: Connection, run_id: int, names: Sequence[str]) -> None:
    """Give each of these files the next one's name; the last one goes."""
    last = (artifacts.c.run_id == run_id, artifacts.c.name == names[-1])
    oldest = connection.scalar(select(artifacts.c.sha256).where(*last))
    connection.execute(artifacts.delete().where(*last))
    for newer, older in reversed(list(pairwise(names))):
        this = (artifacts.c.run_id == run_id, artifacts.c.name == newer)
        connection.execute(artifacts.update().where(*this).values(name=older))
    _delete_unused(connection, oldest)


def _delete_unused(connection: Connection, digest: str | None) -> None:
    """Delete a file's contents unless some artifact has them."""
    used = select(artifacts.c.run_id).where(artifacts.c.sha256 == digest).exists()
    connection.execute(blobs.delete().where(blobs.c.sha256 == digest, ~used))


def _record(row: Row[Any], data: bytes | None = None) -> Artifact:
    return Artifact(row.name, row.media_type, row.sha256, row.size, row.created_at, data)
