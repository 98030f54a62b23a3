"""New packages that bring something to the workshop."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from workshop.cli import common

app = typer.Typer(name="new", help=__doc__, no_args_is_help=True)


@app.callback()
def _group() -> None:
    """With a single command, Typer would leave out its name."""


@app.command()
def workload(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The workload's name, such as heat_flow.")],
    folder: Annotated[
        Path, typer.Option("--folder", metavar="DIR", help="Where the package's folder is made.", show_default="here")
    ] = Path(),
    as_json: common.JSON = False,
) -> None:
    """Write a package with a workload and a test. It has a verdict, panel, page, lab and deck, and runs once it is
    installed."""
    from workshop.cli import templates
    from workshop.mpi import prefix

    package = templates.write_workload(name, folder.expanduser().absolute())
    written = [str(path.relative_to(package)) for path in templates.files(package)]
    pip = [sys.executable, "-P", "-m", "pip", "install"]
    if find_spec("pip") is None and (uv := prefix.uv()) is not None:  # uv makes environments without pip
        pip = [uv, "pip", "install", "--python", sys.executable]
    # All that the package needs is here. Its dependencies would bring those that our pyproject.toml leaves out.
    following = [shlex.join([*pip, "--no-deps", "-e", str(package)]), f"workshop run {name}"]
    if as_json:
        common.answer({"folder": str(package), "files": written, "next": following})
        return
    print(f"{package} is written:")
    for path in written:
        print(f"  {path}")
    print("Next, type:")
    for command in following:
        print(f"  {command}")
