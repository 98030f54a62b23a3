"""What makes no sense in a question whose form is right: numbers that nobody sees, expressions without a value, wrong
answers that would count as right, runs and placements that can't be."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path as File
from typing import Any

from pydantic import ValidationError

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.quiz import expressions, grading, pictures, placement_questions, rendering, text_input
from workshop.quiz.deck import Base, Choice, Match, Number, Order, Place, Poll, Predict, Text
from workshop.quiz.form_errors import DeckMistake, Where, mistakes, named, nearest
from workshop.quiz.parts import RunWanted
from workshop.quiz.randomisation import combinations, written
from workshop.registry import mpi, mpis, workload, workloads

SEEN = 50  # combinations of numbers with which texts are looked at


def problems(question: Base, folder: File | None) -> Iterator[DeckMistake]:
    """Everything that makes no sense; `folder` is where the deck and its pictures are."""
    yield from _texts(question)
    yield from _picture(question, folder)
    yield from _code(question)
    match question:
        case Number():
            yield from _number(question)
        case Text():
            yield from _forms(question)
        case Predict():
            yield from _predict(question)
        case Place():
            yield from _place(question)
        case Choice() | Poll():
            yield from _options(question)


def texts(question: Base) -> Iterator[tuple[Where, str]]:
    """Every piece of Markdown in a question, and where it is."""
    yield ("text",), question.text
    yield ("explanation",), question.explanation
    match question:
        case Choice() | Poll():
            for place, option in enumerate(question.options):
                yield ("options", place, "text"), option.text
                yield ("options", place, "feedback"), getattr(option, "feedback", "")
        case Order():
            for place, item in enumerate(question.items):
                yield ("items", place), item
        case Match():
            for place, pair in enumerate(question.pairs):
                yield ("pairs", place, "left"), pair.left
                yield ("pairs", place, "right"), pair.right
            for place, item in enumerate(question.extra):
                yield ("extra", place), item
        case Number() | Text() | Place():
            for place, near in enumerate(question.near):
                yield ("near", place, "feedback"), near.feedback


def _texts(question: Base) -> Iterator[DeckMistake]:
    """Formulas that can't be read, names that are no number, and numbers that stand nowhere."""
    numbers = next(combinations(question.numbers), {})
    used: set[str] = set()
    for path, text in texts(question):
        if text and not text.strip():
            yield DeckMistake(path, f"{named(path)} is empty; it should say something")
        asked = rendering.names(text)
        used |= asked | rendering.names_in_formulas(text)
        for name in sorted(asked - question.numbers.keys()):
            usable = [number for number in question.numbers if number not in expressions.FUNCTIONS]
            known = f"they are {words.listed(usable)}" if usable else "it has none"
            yield DeckMistake(
                path,
                f"{{{name}}} is none of this question's numbers; {known}, and code stands between backticks"
                f"{nearest(name, usable)}",
            )
        for problem in rendering.problems(text, numbers):
            yield DeckMistake(path, problem)
    for name in question.numbers.keys() - used:
        yield DeckMistake(("numbers", name), f"{name} stands in none of the texts; it should, as {{{name}}}, or go")


def _picture(question: Base, folder: File | None) -> Iterator[DeckMistake]:
    if question.picture is not None:
        try:
            pictures.load(folder, question.picture)
        except BadInput as error:
            yield DeckMistake(("picture", "file"), str(error).rstrip("."))


def _code(question: Base) -> Iterator[DeckMistake]:
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
        yield DeckMistake(("check",), "check leaves no `answer`; it should set it to what is right")


def _options(question: Choice | Poll) -> Iterator[DeckMistake]:
    """Options that become the same with some numbers; without numbers the deck has found them already."""
    for numbers in islice(combinations(question.numbers), SEEN) if question.numbers else ():
        seen: dict[str, int] = {}
        for place, option in enumerate(question.options):
            text = rendering.plain(option.text, numbers)
            if text in seen and option.text.split() != question.options[seen[text]].text.split():
                yield DeckMistake(
                    ("options", place), f"this option is the same as option {seen[text] + 1} {_with(numbers)}: {text}"
                )
                return
            seen[text] = place


def _number(question: Number) -> Iterator[DeckMistake]:
    """Answers that have no value with some numbers, and wrong ones that would count as right with some."""
    right = yield from _values(question, question.answer, ("answer",))
    for place, near in enumerate(question.near):
        path = ("near", place, "answer")
        wrong = yield from _values(question, near.answer, path)
        for numbers, value, other in zip(combinations(question.numbers), right, wrong, strict=False):
            if value is not None and other is not None and grading.within(other, value, question.tolerance):
                yield DeckMistake(
                    path,
                    f"{near.answer if isinstance(near.answer, str) else 'it'} is {written(other)}"
                    f"{_with(numbers, ' ')}, which counts as right: the answer is "
                    f"{written(value)}, and the tolerance {written(question.tolerance.around(value))}",
                )
                break


def _values(question: Number, given: float | str, path: Where) -> Any:
    """An answer's value for each combination of numbers, None where it has none, which is told once."""
    found: list[float | None] = []
    told = False
    for numbers in combinations(question.numbers):
        try:
            value = expressions.evaluate(given, numbers) if isinstance(given, str) else float(given)
            if not math.isfinite(value):
                raise ValueError(f"{given} is no finite number")
            found.append(value)
        except ValueError as error:
            found.append(None)
            if not told:
                yield DeckMistake(path, f"{error}{_with(numbers, ' ')}; it should have a value for all numbers")
            told = True
    return found


def _with(numbers: Mapping[str, float], before: str = "") -> str:
    said = words.listed(f"{name} = {written(value)}" for name, value in numbers.items())
    return f"{before}with {said}" if said else ""


def _forms(question: Text) -> Iterator[DeckMistake]:
    """Forms of an answer that are the same to whoever compares them."""
    seen: dict[str, str] = {}
    given = [(("accept", place), form) for place, form in enumerate(question.accept)]
    for place, near in enumerate(question.near):
        given += [(("near", place, "accept", at), form) for at, form in enumerate(near.accept)]
    for path, form in given:
        alike = text_input.alike(form)
        if alike in seen:
            yield DeckMistake(path, f"{form!r} is the same as {seen[alike]}: case, spaces and apostrophes don't matter")
        elif not alike or len(form) > text_input.LONGEST:
            yield DeckMistake(
                path, f"nobody can answer {form[:40]!r}; it should be 1 to {text_input.LONGEST} characters"
            )
        else:
            seen[alike] = f"{form!r} in {'accept' if path[0] == 'accept' else f'near.{path[1]}'}"


def _predict(question: Predict) -> Iterator[DeckMistake]:
    for name, run in question.runs.items():
        yield from _run(run, ("runs", name))
    if question.kind == "rank" and question.unit:
        yield DeckMistake(("unit",), "a rank's number has no unit; leave unit out")


def _run(run: RunWanted, path: Where) -> Iterator[DeckMistake]:
    """A workload, params and a placement that can be run."""
    if run.workload in workloads():
        model = workload(run.workload).params
        yield from _model(model.model_validate, model, run.params, (*path, "params"))
    else:
        known = words.listed(workloads())
        guess = nearest(run.workload, workloads())
        yield DeckMistake((*path, "workload"), f"there is no workload {run.workload!r}; there are {known}{guess}")
    yield from _model(Placement.model_validate, Placement, run.placement, (*path, "placement"))
    yield from _mpi(run.placement, (*path, "placement"))


def _model(check: Callable[[Any], Any], model: Any, values: Mapping[str, Any], path: Where) -> Iterator[DeckMistake]:
    """What a model has against some values."""
    try:
        check(dict(values))
    except ValidationError as error:
        for one in mistakes(error, model, dict(values)):
            yield DeckMistake((*path, *one.path), f"{named(path)}: {one.text}")


def _mpi(placement: Mapping[str, Any], path: Where) -> Iterator[DeckMistake]:
    """What is wrong with the name of a placement's MPI; any text is one for the model."""
    try:
        if isinstance(name := placement.get("mpi"), str):
            mpi(name)
    except BadInput as error:
        yield DeckMistake((*path, "mpi"), f"{named(path)}: {str(error).rstrip('.')}")


def _place(question: Place) -> Iterator[DeckMistake]:
    try:
        most = placement_questions.most(placement_questions.machine(question))
    except BadInput as error:
        yield DeckMistake(("machine",), str(error).rstrip("."))
        most = placement_questions.MOST
    if len(set(question.ask)) < len(question.ask):
        yield DeckMistake(("ask",), "ask has a field twice")
    chosen = mpis().get(str(question.given.get("mpi")))
    if chosen is not None and not chosen.mapper:
        right = words.listed((name for name, one in mpis().items() if one.mapper), "or")
        yield DeckMistake(("given", "mpi"), f"{chosen.title}'s mapper can't be asked; mpi should be {right}")
    composed: Sequence[tuple[Where, Mapping[str, Any]]] = [
        (("right",), question.right),
        *((("near", place, "placement"), near.placement) for place, near in enumerate(question.near)),
    ]
    given = [
        *_model(Placement.model_validate, Placement, question.given, ("given",)),
        *_mpi(question.given, ("given",)),
    ]
    yield from (one for one in given if len(one.path) > 1)
    wrong = {str(one.path[1]) for one in given if len(one.path) > 1}
    usable = {name: value for name, value in question.given.items() if name not in wrong}
    for path, chosen in composed:
        yield from _model(lambda values: Placement.model_validate({**usable, **values}), Placement, chosen, path)
        for name, value in chosen.items():
            if isinstance(value, int) and not isinstance(value, bool) and value > most:
                yield DeckMistake(
                    (*path, name), f"{name} is {value}; on {question.machine} one can choose up to {most}"
                )
