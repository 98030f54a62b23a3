"""What commands share: the options of a placement, showing answers, choosing a session."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from workshop import topology
from workshop.documents import finite
from workshop.errors import BadInput
from workshop.placement import Placement, default_for

JSON = Annotated[bool, typer.Option("--json", help="Answer as one JSON document on standard output.")]

# Options are taken as text and checked by the models, so that every error reads the same.
Ranks = Annotated[str | None, typer.Option("--ranks", "-n", metavar="N", help="Number of MPI ranks.")]
MapBy = Annotated[
    str | None,
    typer.Option(metavar="RESOURCE", help="Deal ranks out over: auto, slot, hwthread, core, l3cache, numa, package."),
]
PerResource = Annotated[str | None, typer.Option(metavar="N", help="Ranks on each such resource (Open MPI's ppr).")]
CoresPerRank = Annotated[str | None, typer.Option(metavar="N", help="Cores that each rank owns (Open MPI's pe).")]
BindTo = Annotated[
    str | None,
    typer.Option(metavar="RESOURCE", help="Bind ranks to: auto, none, hwthread, core, l3cache, numa, package."),
]
ThreadsPerRank = Annotated[str | None, typer.Option("--threads", metavar="N", help="Threads per rank.")]
Environment = Annotated[
    list[str] | None, typer.Option("--env", metavar="NAME=VALUE", help="A variable set on every rank; may be repeated.")
]
SessionName = Annotated[
    str | None, typer.Option("--session", metavar="NAME", help="The session to run in; default: the one that is up.")
]
Private = Annotated[bool, typer.Option("--private", help="Start a session for this command alone.")]


def stderr() -> Console:
    return Console(stderr=True, highlight=False, markup=False)


def answer(document: Any) -> None:
    """Print one JSON document on standard output. What diverged reads null there: JSON has no NaN and no infinity."""
    json.dump(finite(document), sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")
    sys.stdout.flush()  # whoever reads a pipe should not have to wait for our end


def write_artifacts(store: Any, run_id: int, folder: Path) -> list[Path]:
    """Write a run's files into a folder, which is made if it isn't there. Raises BadInput where it can't be."""
    writable(folder)
    written = []
    for artifact in store.artifacts(run_id):
        written.append(folder / artifact.name.replace("/", "-"))
        written[-1].write_bytes(store.artifact(run_id, artifact.name).data or b"")
    return written


def writable(folder: Path) -> None:
    """Make a folder for results. Raises BadInput where nobody can write."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BadInput(f"{folder} can't be written ({error.strerror}); give a folder of your own.") from error


def placement_from(
    base: Mapping[str, Any],
    ranks: str | None,
    map_by: str | None,
    per_resource: str | None,
    cores_per_rank: str | None,
    bind_to: str | None,
    threads: str | None,
    env: list[str] | None,
) -> Placement:
    """A placement from command-line options on top of another one; without either, the machine's default. Raises
    BadInput."""
    given = {
        "ranks": ranks,
        "map_by": map_by,
        "per_resource": per_resource,
        "cores_per_rank": cores_per_rank,
        "bind_to": bind_to,
        "threads": threads,
    }
    asked = {name: value for name, value in given.items() if value is not None}
    if not base and not asked:
        base = default_for(topology.allowed_cores(topology.machine())).as_json()
    values = {**base, **asked}
    if env:
        pairs = [word.partition("=") for word in env]
        for name, equals, _ in pairs:
            if not equals:
                raise BadInput(f"--env {name} has no value; write --env {name}=VALUE.")
        values["environment"] = {**values.get("environment", {}), **{name: value for name, _, value in pairs}}
    return Placement.parse(values)


def one_session(session: str | None, private: bool) -> None:
    """Refuse to run both in a session that is up and in one of its own. Raises BadInput."""
    if session and private:
        raise BadInput("--session and --private exclude each other; give one of them.")
