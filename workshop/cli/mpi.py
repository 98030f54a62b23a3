"""Install and list MPIs, each in a prefix of its own; build Horovod."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from workshop.cli import common
from workshop.mpi import INSTALL
from workshop.mpi.implementations import IMPLEMENTATIONS

_MPIS = "Install and list MPIs, each in a prefix of its own. MPICH and Intel MPI overwrite each other's files."
app = typer.Typer(name="mpi", help=_MPIS, no_args_is_help=True)


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


_HOROVOD = "Horovod, which exchanges gradients: built from source in this environment."
horovod_app = typer.Typer(name="horovod", help=_HOROVOD, no_args_is_help=True)


@horovod_app.callback(help=_HOROVOD)
def _group() -> None:
    """With a single command, Typer would leave out its name."""


@horovod_app.command("install")
def install_horovod(as_json: common.JSON = False) -> None:
    """Build Horovod and install it, unless it works already. It takes a few minutes, gcc, g++ and make."""
    from workshop.cli.installation import horovod as building
    from workshop.mpi import horovod

    err = common.stderr()
    began = time.monotonic()
    before = horovod.working() if horovod.build().state == "built" else None
    with err.status("Building Horovod, which takes 2 to 4 minutes"):
        version = before or building.install()
    if as_json:
        seconds = round(time.monotonic() - began, 1)
        common.answer({"horovod": version, "built_now": before is None, "seconds": seconds})
    elif before:
        err.print(f"Horovod {version} is built already.")
    else:
        err.print(f"Horovod {version} is built; two ranks have found each other with it.")
