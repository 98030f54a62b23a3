"""How learners stand in the labs, and how one of them begins anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workshop.cli import common

if TYPE_CHECKING:
    from workshop.course.progress import Class, LabStanding, LearnerProgress

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
        found = room.look(learner)
    if learner is not None and not found.learners:
        raise BadInput(f"Nothing is known of a learner {learner!r:.90}; workshop labs progress shows those there are.")
    if as_json:
        common.answer(_document(found))
        return
    for problem in room.problems:
        common.stderr().print(problem, soft_wrap=True)
    if learner is not None:
        _show_learner(found.learners[0])
    else:
        _show(found)


def reset(
    learner: Annotated[str, typer.Argument(metavar="LEARNER", help="As `workshop labs progress` names them.")],
    lab: Annotated[str | None, typer.Argument(metavar="LAB", help="One lab by name; default: all.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, nothing is changed.")] = False,
    as_json: common.JSON = False,
) -> None:
    """Let a learner begin anew: their progress is taken back, and a notebook on this machine is given anew. What they
    have written is set aside, never lost."""
    from workshop.core.errors import BadInput
    from workshop.course import progress_reset
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
        print(_plain(done.words))


def _document(found: Class) -> dict[str, Any]:
    return {
        "labs": [asdict(lab) for lab in found.labs],
        "learners": [
            {
                "name": learner.name,
                "stuck": asdict(learner.stuck) if learner.stuck else None,
                "quizzes_only": learner.quizzes_only,
                "labs": [_lab(where) for where in learner.labs if where.begun],
            }
            for learner in found.learners
        ],
    }


def _lab(where: LabStanding) -> dict[str, Any]:
    told = {name: value for name, value in asdict(where).items() if name != "lab"}
    for one, exercise in zip(told["exercises"], where.exercises, strict=True):
        one["mark"] = exercise.mark
    for one, quiz in zip(told["quizzes"], where.quizzes, strict=True):
        one["share"] = quiz.share
    return {"lab": where.lab.name, "solved": where.solved, "finished": where.finished, **told}


def _show(found: Class) -> None:
    from rich.console import Console
    from rich.text import Text

    from workshop.report import terminal

    out = Console(highlight=False)
    if not out.is_terminal:
        out.width = WIDE
    if not found.learners:
        out.print("Nobody has opened a lab's notebook yet.")
        return
    for one in found.learners:
        if one.stuck:
            hint = f" Last hint: {_plain(one.stuck.hint)}" if one.stuck.hint else ""
            out.print(Text.assemble((f"{_plain(one.name)} is stuck. ", "bold"), f"{_plain(one.stuck.words)}{hint}"))
    marks = [
        ["".join(SIGNS[mark.mark] for mark in where.exercises if where.at_it) for where in one.labs]
        for one in found.learners
    ]
    rows = [(_plain(one.name), *mine) for one, mine in zip(found.learners, marks, strict=True)]
    out.print(terminal.table(["learner", *(lab.name for lab in found.labs)], rows, no_wrap=True))
    out.print(SIGNS_SAID, style="dim")


def _show_learner(one: LearnerProgress) -> None:
    if one.stuck:
        print(_plain(f"Stuck. {one.stuck.words}"))
    for where in one.labs:
        if where.begun:
            for line in _lines(where):
                print(_plain(line))


def _lines(where: LabStanding) -> Iterator[str]:
    from workshop.core import words

    solved = f"{where.solved} of {words.count(len(where.exercises), 'exercise')} right"
    yield f"{where.lab.label}: {solved}, {words.count(round(where.minutes), 'minute')} in it; last: {where.last}"
    for one in where.exercises:
        said = f"; last hint: {one.said}" if one.said and one.mark != "right" else ""
        yield f"  {SIGNS[one.mark]} {one.id}: {words.count(one.tries, 'check')}{said}"
    for guess in where.predictions:
        measured = "not measured yet" if guess.measured is None else f"measured {guess.measured}"
        yield f"  predicted {guess.id}: {'-' if guess.guess is None else guess.guess}, {measured}"
    for quiz in where.quizzes:
        yield f"  quiz {'alone' if quiz.kind == 'alone' else 'live'}: {words.percent(quiz.share)} right"


def _plain(text: str) -> str:
    """What somebody else wrote, for a terminal: characters that steer it are left out."""
    return "".join(one if one.isprintable() else " " for one in text)
