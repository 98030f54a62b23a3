"""Finds mistakes in the content of a well-formed question: unused numbers, unreadable pictures and code, impossible
runs and placements."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path as File
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.mpi.implementations import implementation
from workshop.quiz import expressions, pictures, rendering
from workshop.quiz.form_errors import DeckMistake, Where, hint, mistakes, named
from workshop.quiz.parts import RunWanted, texts
from workshop.quiz.randomisation import combinations
from workshop.registry import workload, workloads

if TYPE_CHECKING:
    from workshop.quiz.types import Question


def problems(question: Question, folder: File | None) -> Iterator[DeckMistake]:
    """Mistakes in the content; `folder` contains the deck's pictures. Those behind the first may follow from it."""
    yield from _texts(question)
    yield from _picture(question, folder)
    yield from _code(question)
    yield from question.problems()


def _texts(question: Question) -> Iterator[DeckMistake]:
    """Report unreadable formulas, names without a number, and numbers that no text uses."""
    numbers = next(combinations(question.numbers), {})
    used: set[str] = set()
    for path, text in texts(question):
        if text and not text.strip():
            yield DeckMistake(path, f"{named(path)} is empty; it should say something")
        names = rendering.names(text)
        used |= names | rendering.names_in_formulas(text)
        for name in sorted(names - question.numbers.keys()):
            usable = [number for number in question.numbers if number not in expressions.FUNCTIONS]
            available = f"they are {words.listed(usable)}" if usable else "it has none"
            yield DeckMistake(
                path,
                f"{{{name}}} is none of this question's numbers; {available}, and code goes between backticks"
                f"{hint(name, usable)}",
            )
        for problem in rendering.problems(text, numbers):
            yield DeckMistake(path, problem)
    for name in sorted(question.numbers.keys() - used):
        yield DeckMistake(("numbers", name), f"no text uses {name}; write it as {{{name}}}, or remove it")


def _picture(question: Question, folder: File | None) -> Iterator[DeckMistake]:
    if question.picture is not None:
        try:
            pictures.load(folder, question.picture)
        except BadInput as error:
            yield DeckMistake(("picture", "file"), str(error).rstrip("."))


def _code(question: Question) -> Iterator[DeckMistake]:
    if not question.check:
        return
    try:
        tree = ast.parse(question.check)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f" (its line {error.lineno}: {error.msg})" if isinstance(error, SyntaxError) else ""
        yield DeckMistake(("check",), f"check is no Python{where}; it should be code that leaves `answer`")
        return
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    if "answer" not in names:
        yield DeckMistake(("check",), "check leaves no `answer`; it should set it to the right answer")


def run_problems(run: RunWanted, path: Where) -> Iterator[DeckMistake]:
    """Report an unknown workload, and params and placement fields that can't be run."""
    if run.workload in workloads():
        model = workload(run.workload).params
        yield from model_problems(model.model_validate, model, run.params, (*path, "params"))
    else:
        available = words.listed(workloads())
        guess = hint(run.workload, workloads())
        yield DeckMistake((*path, "workload"), f"there is no workload {run.workload!r}; there are {available}{guess}")
    yield from model_problems(Placement.model_validate, Placement, run.placement, (*path, "placement"))
    yield from mpi_problems(run.placement, (*path, "placement"))


def model_problems(
    check: Callable[[Any], Any], model: Any, values: Mapping[str, Any], path: Where
) -> Iterator[DeckMistake]:
    """The errors of a pydantic model for these values."""
    try:
        check(dict(values))
    except ValidationError as error:
        for mistake in mistakes(error, model, dict(values)):
            yield DeckMistake((*path, *mistake.path), f"{named(path)}: {mistake.text}")


def mpi_problems(placement: Mapping[str, Any], path: Where) -> Iterator[DeckMistake]:
    """Report an unknown MPI of a placement; the model itself accepts any text."""
    try:
        if isinstance(name := placement.get("mpi"), str):
            implementation(name)
    except BadInput as error:
        yield DeckMistake((*path, "mpi"), f"{named(path)}: {str(error).rstrip('.')}")
