"""Install and list MPIs, each in a prefix of its own. MPICH and Intel MPI overwrite each other's files."""

from __future__ import annotations

from typing import Annotated

import typer

from workshop.cli import common
from workshop.mpi import INSTALL
from workshop.mpi.implementations import IMPLEMENTATIONS

app = typer.Typer(name="mpi", help=__doc__, no_args_is_help=True)


@app.command()
def install(
    name: Annotated[str, typer.Argument(help=f"An MPI, or what runs on one: {', '.join(INSTALL)}.")],
    as_json: common.JSON = False,
) -> None:
    """Install an MPI into its prefix, and try it with two ranks. Prefixes are in the state folder."""
    from workshop import mpi as workshop_mpi
    from workshop.core import words
    from workshop.core.errors import BadInput
    from workshop.extension import load

    mpi_class = next((mpi for mpi in IMPLEMENTATIONS.values() if name == mpi.name or name in mpi.aliases), None)
    name = mpi_class.name if mpi_class is not None else name
    if name not in INSTALL:
        offered = words.listed(INSTALL)
        if name in workshop_mpi.installed():
            raise BadInput(f"{name} is there already; {offered} can be installed beside it.")
        raise BadInput(f"There is nothing called {name!r:.60} to install; there are {offered}.")
    err = common.stderr()
    with err.status(f"Installing {name}"):
        folder = load(INSTALL[name])()
    if as_json:
        common.answer({"mpi": name, "prefix": str(folder)})
    else:
        err.print(f"{name} is in {folder}")


@app.command("list")
def list_(as_json: common.JSON = False) -> None:
    """List the MPIs with version and place."""
    from workshop import mpi

    inventory_by_name = mpi.mpis()
    rows = [
        (f"{about['title']} ({name})", about["version"] or "-", about["where"] or about["note"])
        for name, about in inventory_by_name.items()
    ]
    common.listing(as_json, inventory_by_name, ("MPI", "version", "where"), rows, overflow="fold")
