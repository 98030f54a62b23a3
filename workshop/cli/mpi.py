"""Other MPIs, each in a prefix of its own: MPICH and Intel MPI overwrite each other's files."""

from __future__ import annotations

from typing import Annotated

import typer

from workshop.cli import common

app = typer.Typer(help=__doc__, no_args_is_help=True)


@app.command()
def install(
    name: Annotated[str, typer.Argument(help="mpich or intelmpi.")],
    as_json: common.JSON = False,
) -> None:
    """Install an MPI into its prefix under the state folder."""
    from workshop.mpi import prefix

    err = common.stderr()
    with err.status(f"Installing {name}"):
        folder = prefix.install(name)
    if as_json:
        common.answer({"mpi": name, "prefix": str(folder)})
    else:
        err.print(f"{name} is in {folder}")


@app.command("list")
def list_(as_json: common.JSON = False) -> None:
    """List the MPIs that are installed."""
    from workshop.mpi import openmpi, prefix

    found = {"openmpi": openmpi.launcher()} | {name: str(folder) for name, folder in prefix.installed().items()}
    if as_json:
        common.answer(found)
    else:
        for name, where in found.items():
            print(f"{name:10} {where}")
