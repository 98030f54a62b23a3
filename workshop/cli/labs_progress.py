"""Commands for learners' progress in the labs, and for resetting a learner."""

from __future__ import annotations

import time
from dataclasses import asdict
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
    as_json: common.JSON = False,
) -> None:
    """Tell how everybody stands in the labs, lab by lab; who is stuck comes first."""
    from workshop.core.errors import BadInput
    from workshop.course.class_progress import Classroom
    from workshop.store.store import Store

    with Store.open() as store:
        room = Classroom(store)
        standing_of_class = room.look(learner)
    if learner is not None and not standing_of_class.learners:
        raise BadInput(f"Nothing is known of a learner {learner!r:.90}; workshop labs progress shows those there are.")
    if as_json:
        common.answer(_document(standing_of_class))
        return
    for problem in room.problems:
        common.stderr().print(problem, soft_wrap=True)
    if learner is not None:
        from rich.console import Console

        from workshop.report import terminal
        from workshop.server.class_sections import learner_cards

        terminal.show(Console(highlight=False), learner_cards(standing_of_class.learners[0], time.time()))
    else:
        _show(standing_of_class)


def reset(
    learner: Annotated[str, typer.Argument(metavar="LEARNER", help="As `workshop labs progress` names them.")],
    lab: Annotated[str | None, typer.Argument(metavar="LAB", help="One lab by name; default: all.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, nothing is changed.")] = False,
    as_json: common.JSON = False,
) -> None:
    """Let a learner begin again: this deletes their progress, and puts a new notebook into their folder on this
    machine. Their own version is kept beside it."""
    from workshop.core.errors import BadInput
    from workshop.course import progress_reset
    from workshop.report.terminal import safe
    from workshop.store.store import Store

    with Store.open() as store:
        if not yes:
            raise BadInput(f"{progress_reset.plan(store, learner, lab).words} Add --yes to do so.")
        done = progress_reset.take_back(store, learner, lab)
    if as_json:
        folder = done.plan.folder
        common.answer(
            {
                "learner": learner,
                "lab": lab,
                "forgotten": done.forgotten,
                "folder": str(folder) if folder else None,
                "given_anew": [*done.plan.notebooks, *done.plan.files],
                "set_aside": list(done.aside),
            }
        )
    else:
        print(safe(done.words))


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
