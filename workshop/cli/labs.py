"""List, copy and check labs, and show learners' progress."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workshop.cli import common

if TYPE_CHECKING:
    from workshop.course.progress import Class, LabStanding

SIGNS = {"right": "+", "wrong": "x", "stuck": "!", "none": "."}
WIDE = 180  # columns where nobody looks: names are whole there
SIGNS_SAID = "+ right, x not right yet, ! wrong three times or more, . not tried"


def progress(
    learner: Annotated[str | None, typer.Option("--learner", metavar="NAME", help="One learner, in detail.")] = None,
    gradebook: common.Gradebook = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over a file that is there.")] = False,
    as_json: common.JSON = False,
) -> None:
    """Tell how everybody stands in the labs. Stuck learners come first."""
    from workshop.core import output_files
    from workshop.core.errors import BadInput
    from workshop.course.class_progress import Classroom, grades

    with common.store() as store:
        room = Classroom(store)
        standing_of_class = room.look(learner)
    if learner is not None and not standing_of_class.learners:
        raise BadInput(f"Nothing is known of a learner {learner!r:.90}; workshop labs progress shows those there are.")
    files = []
    if gradebook is not None:
        path = Path(f"labs.grades-{gradebook}.csv")
        output_files.check([path], overwrite)
        files = [output_files.write(path, grades(standing_of_class).write(gradebook))]
    if as_json:
        common.answer({**_document(standing_of_class), "files": files})
        return
    if files:
        print(*files)
        return
    for problem in room.problems:
        common.stderr().print(problem, soft_wrap=True)
    if learner is not None:
        from rich.console import Console

        from workshop.report import terminal
        from workshop.web.class_sections import learner_cards

        terminal.show(Console(highlight=False), learner_cards(standing_of_class.learners[0], time.time()))
    else:
        _show(standing_of_class)


def reset(
    learner: Annotated[str, typer.Argument(metavar="LEARNER", help="As `workshop labs progress` names them.")],
    lab: Annotated[str | None, typer.Argument(metavar="LAB", help="One lab by name; default: all.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, nothing is changed.")] = False,
    as_json: common.JSON = False,
) -> None:
    """Let a learner begin again. This deletes their progress, and puts a new notebook into their folder on this
    machine. Their own version is kept beside it."""
    from workshop.core.errors import BadInput
    from workshop.course import class_progress
    from workshop.report.terminal import safe

    with common.store() as store:
        if not yes:
            raise BadInput(f"{class_progress.plan_reset(store, learner, lab).words} Add --yes to do so.")
        done = class_progress.reset(store, learner, lab)
    if as_json:
        common.answer(
            {
                "learner": learner,
                "lab": lab,
                "forgotten": done.things,
                "folder": str(done.folder) if done.folder else None,
                "given_anew": [*done.notebooks, *done.files],
                "set_aside": list(done.aside),
            }
        )
    else:
        print(safe(done.done))


def _document(class_: Class) -> dict[str, Any]:
    return {
        "labs": [asdict(lab) for lab in class_.labs],
        "learners": [
            {
                "name": learner.name,
                "stuck": asdict(learner.stuck) if learner.stuck else None,
                "quizzes_only": learner.quizzes_only,
                "labs": [_lab(where) for where in learner.labs if where.begun],
            }
            for learner in class_.learners
        ],
    }


def _lab(where: LabStanding) -> dict[str, Any]:
    document = {name: value for name, value in asdict(where).items() if name != "lab"}
    for entry, exercise in zip(document["exercises"], where.exercises, strict=True):
        entry["mark"] = exercise.mark
    for entry, quiz in zip(document["quizzes"], where.quizzes, strict=True):
        entry["share"] = quiz.share
    return {"lab": where.lab.name, "solved": where.solved, "finished": where.finished, **document}


def _show(class_: Class) -> None:
    from rich.console import Console
    from rich.text import Text

    from workshop.report.terminal import safe, table

    out = Console(highlight=False)
    if not out.is_terminal:
        out.width = WIDE
    if not class_.learners:
        out.print("Nobody has opened a lab's notebook yet.")
        return
    for member in class_.learners:
        if member.stuck:
            hint = f" Last hint: {safe(member.stuck.hint)}" if member.stuck.hint else ""
            out.print(Text.assemble((f"{safe(member.name)} is stuck. ", "bold"), f"{safe(member.stuck.words)}{hint}"))
    marks = [
        ["".join(SIGNS[mark.mark] for mark in where.exercises if where.at_it) for where in member.labs]
        for member in class_.learners
    ]
    rows = [(safe(member.name), *signs) for member, signs in zip(class_.learners, marks, strict=True)]
    out.print(table(["learner", *(lab.name for lab in class_.labs)], rows, no_wrap=True))
    out.print(SIGNS_SAID, style="dim")


app = typer.Typer(help=__doc__, no_args_is_help=True)
app.command("progress")(progress)
app.command("reset")(reset)


@app.command("list")
def list_(as_json: common.JSON = False) -> None:
    """List the labs in the order of the course."""
    from workshop.core import config
    from workshop.core.errors import BadInput
    from workshop.course import catalogue, description

    labs = []
    for folder in catalogue.folders():
        try:
            labs.append((folder, description.read(folder)))
        except BadInput as error:
            common.stderr().print(str(error), soft_wrap=True)  # all other labs are listed
    notebooks = config.notebooks_folder()
    documents = [
        {
            "name": folder.name,
            "notebook": str(notebooks / catalogue.file_name(lab, folder)) if catalogue.is_own(folder) else None,
            "folder": str(folder),
        }
        | lab.model_dump(mode="json")
        for folder, lab in labs
    ]
    rows = [
        (str(lab.number), folder.name, str(lab.minutes), str(len(lab.exercises)), lab.title) for folder, lab in labs
    ]
    headings = ("lab", "name", "minutes", "exercises", "title")
    common.listing(as_json, documents, headings, rows, ("lab", "minutes", "exercises"))


@app.command()
def build(as_json: common.JSON = False) -> None:
    """Make the notebooks of the labs' sources. Learners' and those with solutions are made; without changes nothing is
    written."""
    from workshop.core import config, words
    from workshop.course import build as building

    folder = config.notebooks_folder()
    built = building.build(folder)
    if as_json:
        common.answer({"folder": str(folder)} | {name: list(paths) for name, paths in vars(built).items()})
        return
    for path in built.written:
        print(f"{path} is written.")
    for path in built.removed:
        print(f"{path} is taken away: no lab makes it any more.")
    notebooks = words.count(len(built.written) + len(built.same), "notebook")
    print(f"{folder} has {notebooks}, {len(built.written)} of them new.")


@app.command()
def copy(
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FOLDER", help="A folder of one's own; default: where make up opens.")
    ] = None,
    lab_or_notebook: Annotated[
        str | None,
        typer.Option(
            "--again",
            metavar="NAME",
            help="Copy this lab or notebook again; the learner's own version is set aside.",
        ),
    ] = None,
    as_json: common.JSON = False,
) -> None:
    """Copy the notebooks for a learner, or bring copies up to date. Learners' changes stay."""
    from workshop.core import config
    from workshop.course import copies

    originals, folder = config.notebooks_folder(), (to or config.learners_folder()).expanduser().resolve()
    done = (
        copies.hand_out(originals, folder)
        if lab_or_notebook is None
        else [copies.copy_again(originals, folder, _notebook(lab_or_notebook))]
    )
    if as_json:
        copied_files = [{"name": copied.name, "what": copied.what, "path": str(copied.path)} for copied in done]
        common.answer({"folder": str(folder), "copies": copied_files})
        return
    for copied in done:
        print(copied)
    print(f"They are in {folder}." if len(done) > 1 else f"It is in {folder}.")


@app.command()
def check(
    labs: Annotated[list[str] | None, typer.Argument(metavar="LAB…", help="Labs by name; default: all.")] = None,
    as_json: common.JSON = False,
) -> int:
    """Check labs and their notebooks. Returns 2 where something is wrong."""
    from workshop.course import catalogue

    folders = catalogue.folders()
    names = labs or [folder.name for folder in folders]
    lab_folders = [catalogue.find(name) for name in names]
    problems = list(_problems(lab_folders))
    if as_json:
        common.answer({"labs": [folder.name for folder in lab_folders], "problems": problems})
    for problem in problems:
        common.stderr().print(problem, soft_wrap=True)
    if not problems and not as_json:
        for folder in lab_folders:
            print(f"{folder}: nothing is wrong")
    return 2 if problems else 0


def _problems(folders: list[Path]) -> Iterator[str]:
    """All that is wrong with these labs; where their sources can be read, also with their notebooks."""
    from workshop.core import config
    from workshop.core.errors import BadInput
    from workshop.course import build as building
    from workshop.course import catalogue

    yield from catalogue.problems(only=folders)
    names = {catalogue.file_name(lab, folder) for folder, lab in catalogue.readable() if folder in folders}
    with suppress(BadInput):  # told already, where it is one of these labs
        yield from building.stale(config.notebooks_folder(), only=names)


def _notebook(name: str) -> str:
    """The file that is handed out under a lab's name, or under its own name."""
    from workshop.course import catalogue, description

    if "." in name:
        return name
    folder = catalogue.find(name)
    return catalogue.file_name(description.read(folder), folder)
