"""Recordings: `workshop record` writes sessions into one file, and `workshop up --replay FILE` shows it anywhere.

A replay has a state folder of its own, which is removed at the end; nothing of the user's state is touched.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workshop.cli import common
from workshop.core import config
from workshop.core.errors import BadInput

if TYPE_CHECKING:
    from workshop.store.store import Store


def record(
    sessions: Annotated[list[str], typer.Argument(metavar="SESSION…", help="The sessions, by their names.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The recording; like class.db.gz.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Whether to replace a file that is there.")] = False,
    note: Annotated[
        str, typer.Option(metavar="TEXT", help="A sentence that stands on every page that shows the recording.")
    ] = "",
    as_json: common.JSON = False,
) -> None:
    """Record sessions in a file, which a dashboard shows later. It has their runs with events, pictures and figures,
    studies, guesses, and the class's quizzes and progress.

    Names of people and hosts are replaced, and nothing secret is recorded; the answer lists what was left out.
    """
    from workshop.core import output_files
    from workshop.store import recording

    output_files.check([out], overwrite)
    common.writable(out.absolute().parent)
    part = out.with_name(f".{out.name}.{os.getpid()}")  # whoever looks sees the whole file, or what was there before
    try:
        with common.store() as store:
            left_out = recording.record(store, sessions, part, note=note)
        part.replace(out)
    except OSError as error:
        raise BadInput(f"{out} can't be written ({error.strerror or error}).") from None
    finally:
        part.unlink(missing_ok=True)
    size = out.stat().st_size
    if as_json:
        common.answer({"file": str(out), "bytes": size, "sessions": sessions, "left_out": left_out})
        return
    err = common.stderr()
    err.print(f"Recorded in {out} ({size / 2**20:.1f} MB); show it with `workshop up --replay {out}`.")
    err.print("Left out:")
    for what in left_out:
        err.print(f"  {what}")


def shipped() -> Path:
    """The recording that comes with the project. Raises BadInput where there is none."""
    recordings = sorted((config.labs_folder() / "recorded").glob("*.db.gz"))
    if not recordings:
        raise BadInput("No recording came with this installation; give a file that `workshop record` has made.")
    return recordings[0]


@contextmanager
def replayed(path: Path) -> Iterator[Store]:
    """A store that holds a recording, in a state folder that is this process's (and its children's) for as long as the
    block lasts. Raises BadInput for a file that can't be shown."""
    from workshop.store.recording import load

    path = path.absolute()
    with tempfile.TemporaryDirectory(prefix="workshop-replay-") as folder, config.elsewhere(Path(folder)):
        load(path, config.home() / config.DATABASE)
        with common.store() as store:
            yield store
