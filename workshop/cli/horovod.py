"""Horovod, which exchanges gradients: built from source in this environment."""

from __future__ import annotations

import time

import typer

from workshop.cli import common

app = typer.Typer(name="horovod", help=__doc__, no_args_is_help=True)


@app.callback()
def horovod() -> None:
    """Horovod, which exchanges gradients: built from source in this environment."""


@app.command()
def install(as_json: common.JSON = False) -> None:
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
