"""The labs: what there is, their notebooks, and copies for learners."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workshop.cli import common, labs_progress

if TYPE_CHECKING:
    from workshop.course.copies import CopyResult

app = typer.Typer(help=__doc__, no_args_is_help=True)
app.command("progress")(labs_progress.progress)
app.command("reset")(labs_progress.reset)


@app.command("list")
def list_(as_json: common.JSON = False) -> None:
    """List the labs in the order of the course."""
    from rich.console import Console

    from workshop.core import config
    from workshop.core.errors import BadInput
    from workshop.course import catalogue, description
    from workshop.report import terminal

    found = []
    for folder in catalogue.folders():
        try:
            found.append((folder, description.read(folder)))
        except BadInput as error:
            common.stderr().print(str(error), soft_wrap=True)  # all other labs are listed
    if as_json:
        notebooks = config.notebooks_folder()
        common.answer(
            [
                {
                    "name": folder.name,
                    "notebook": str(notebooks / name) if catalogue.is_own(folder) else None,
                    "folder": str(folder),
                }
                | lab.model_dump(mode="json")
                for folder, lab in found
                for name in [catalogue.file_name(lab, folder)]
            ]
        )
        return
    rows = [
        (str(lab.number), folder.name, str(lab.minutes), str(len(lab.exercises)), lab.title) for folder, lab in found
    ]
    headings = ("lab", "name", "minutes", "exercises", "title")
    Console(highlight=False).print(terminal.table(headings, rows, right=("lab", "minutes", "exercises")))


@app.command()
def build(
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; tell which notebooks are stale, and return 1 then.")
    ] = False,
    as_json: common.JSON = False,
) -> int:
    """Make the notebooks of the labs' sources, for learners and with solutions. Without changes nothing is written."""
    from workshop.core import config, words
    from workshop.course import build as building

    folder = config.notebooks_folder()
    if check:
        stale = building.stale(folder)
        if as_json:
            common.answer({"folder": str(folder), "stale": stale})
        for told in stale:
            common.stderr().print(told, soft_wrap=True)
        if not stale and not as_json:
            print(f"All notebooks in {folder} are as their sources say.")
        return 1 if stale else 0
    built = building.build(folder)
    if as_json:
        common.answer({"folder": str(folder)} | {name: list(paths) for name, paths in vars(built).items()})
        return 0
    for path in built.written:
        print(f"{path} is written.")
    for path in built.removed:
        print(f"{path} is taken away: no lab makes it any more.")
    there = words.count(len(built.written) + len(built.same), "notebook")
    print(f"{folder} has {there}, {len(built.written)} of them new.")
    return 0


@app.command()
def copy(
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FOLDER", help="A folder of one's own; default: where make up opens.")
    ] = None,
    again: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Give this one anew, a lab or a notebook; what was written is set aside."),
    ] = None,
    as_json: common.JSON = False,
) -> None:
    """Copy the notebooks for a learner, or bring copies up to date; what a learner has written is never overwritten."""
    from workshop.core import config
    from workshop.course import copies

    originals, mine = config.notebooks_folder(), (to or config.learners_folder()).expanduser().resolve()
    done = copies.hand_out(originals, mine) if again is None else [copies.again(originals, mine, _notebook(again))]
    if as_json:
        common.answer({"folder": str(mine), "copies": [_told(one) for one in done]})
        return
    for one in done:
        print(one)
    print(f"They are in {mine}." if len(done) > 1 else f"It is in {mine}.")


@app.command()
def check(
    labs: Annotated[list[str] | None, typer.Argument(metavar="LAB…", help="Labs by name; default: all.")] = None,
    as_json: common.JSON = False,
) -> int:
    """Check labs, and tell everything that is wrong, also with their notebooks; 2 is returned where something is."""
    from workshop.course import catalogue

    folders = catalogue.folders()
    names = labs or [folder.name for folder in folders]
    wanted = [catalogue.find(name) for name in names]
    problems = list(_problems(wanted))
    if as_json:
        common.answer({"labs": [folder.name for folder in wanted], "problems": problems})
    for told in problems:
        common.stderr().print(told, soft_wrap=True)
    if not problems and not as_json:
        for folder in wanted:
            print(f"{folder}: nothing is wrong")
    return 2 if problems else 0


def _problems(folders: list[Path]) -> Iterator[str]:
    """All that is wrong with these labs; where their sources can be read, also with their notebooks."""
    from workshop.core import config
    from workshop.core.errors import BadInput
    from workshop.course import build as building
    from workshop.course import catalogue, description

    yield from catalogue.problems(only=folders)
    names = set()
    for folder in folders:
        try:
            names.add(catalogue.file_name(description.read(folder), folder))
        except BadInput:
            continue  # told already
    try:
        yield from building.stale(config.notebooks_folder(), only=names)
    except BadInput:
        return  # told already, where it is one of these labs


def _notebook(name: str) -> str:
    """What is handed out under a lab's name, or under its own."""
    from workshop.course import catalogue, description

    if "." in name:
        return name
    folder = catalogue.find(name)
    return catalogue.file_name(description.read(folder), folder)


def _told(one: CopyResult) -> dict[str, Any]:
    return {"name": one.name, "what": one.what, "path": str(one.path)}
