"""New packages that bring something to the workshop: the folders in `templates`, with names in place of theirs.

Their files are a package that works as it stands. So they are checked like all other code.
"""

from __future__ import annotations

import keyword
import re
import shlex
import sys
from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from workshop.cli import common
from workshop.core.errors import BadInput

WORKLOAD = Path(__file__).parent / "templates" / "workload"
LONGEST_NAME = 30  # characters of a name: a lab's name may have 40
LAST = 99  # the highest number that a lab may have

app = typer.Typer(name="new", help="New packages that bring something to the workshop.", no_args_is_help=True)


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
    from workshop.mpi import prefix

    package = write_workload(name, folder.expanduser().absolute())
    written = [str(path.relative_to(package)) for path in files(package)]
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


def write_workload(name: str, folder: Path) -> Path:
    """Write the package of a new workload into a folder, and return the package's folder. Raises BadInput for a name
    that can't be taken and for a folder that can't be written."""
    from workshop.course import catalogue

    _check(name)
    lab = name.replace("_", "-")
    package = folder / f"{lab}-workshop"
    number = min(LAST, max([described.number for _, described in catalogue.readable()], default=0) + 1)
    names = {
        "my_workload": name,
        "my-workload": lab,
        "MyWorkload": "".join(word.capitalize() for word in name.split("_")),
        "My workload": name.replace("_", " ").capitalize(),
        "number: 99": f"number: {number}",
        "ab 99": f"ab {number}",  # Lab 99 and lab 99
    }
    try:
        package.mkdir(parents=True)
        for file in files(WORKLOAD):
            target = package / _replaced(str(file.relative_to(WORKLOAD)), names)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_replaced(file.read_text(encoding="utf-8"), names), encoding="utf-8")
    except FileExistsError:
        raise BadInput(f"{package} is there already; take another name, or another folder with --folder.") from None
    except OSError as error:
        raise BadInput(f"{package} can't be written ({error.strerror}).") from None
    return package


def files(folder: Path) -> list[Path]:
    """The files of a package, without what Python or an installation has left beside them."""
    existing = (path for path in folder.rglob("*") if path.is_file())
    generated = ("__pycache__", ".egg-info", ".pytest_cache")
    return sorted(
        path for path in existing if not any(part.endswith(generated) for part in path.relative_to(folder).parts)
    )


def _check(name: str) -> None:
    """Refuse what can't be the name of a new workload, with its lab, deck and page. Raises BadInput."""
    from workshop import registry
    from workshop.quiz import reader

    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or keyword.iskeyword(name) or len(name) > LONGEST_NAME:
        raise BadInput(
            f"{name[:60]!r} can't be the name of a workload; it should be small letters, digits and underscores, like "
            f"heat_flow, with at most {LONGEST_NAME} characters, and no word of Python's own."
        )
    names_in_use: dict[str, Collection[str]] = {
        "workload": registry.workloads(),
        "lab": [lab.name for lab in registry.labs()],
        "deck": reader.shipped(),
        "page": [page.name for page in registry.pages()],
    }
    for what, used in names_in_use.items():
        if name in used or name.replace("_", "-") in used:
            raise BadInput(f"There is a {what} {name!r} already; a new workload needs another name.")


def _replaced(text: str, names: dict[str, str]) -> str:
    for old, new in names.items():
        text = text.replace(old, new)
    return text
