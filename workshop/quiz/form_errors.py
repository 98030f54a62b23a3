"""Translates pydantic's errors in a deck into sentences that say what would be right.

Finds mistakes in what a question would run: its workload, params and placement.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticCustomError

from workshop.core import words
from workshop.core.errors import BadInput, in_words
from workshop.core.placement import Placement
from workshop.mpi.implementations import implementation
from workshop.quiz.parts import RunWanted
from workshop.registry import workload, workloads

Where = tuple[str | int, ...]  # keys and indexes, from the root of the checked document


@dataclass(frozen=True)
class DeckMistake:
    """One mistake in a deck."""

    path: Where
    text: str


def fault(path: Where, text: str) -> PydanticCustomError:
    """An error for a validator to raise: a contradiction between parts that are valid one by one, with its place."""
    return PydanticCustomError("value_error", "{text}", {"path": path, "text": text})


def mistakes(error: ValidationError, model: type[BaseModel], data: Any) -> list[DeckMistake]:
    """All mistakes in `data`, which should be such a model: one for each place."""
    by_path: dict[Where, DeckMistake] = {}
    for problem in error.errors(include_url=False):
        path = _path(problem, data)
        if problem["type"] == "too_short" and len(problem["input"]) >= problem["ctx"]["min_length"]:
            continue  # pydantic counts only the valid parts; each of the others has its own mistake
        if path in by_path:  # pydantic reports one error for each type of a union: a number, or text
            by_path[path] = DeckMistake(path, _either(by_path[path].text, problem, path))
        else:
            by_path[path] = DeckMistake(path, _text(problem, path, model))
    return list(by_path.values())


def named(path: Where) -> str:
    return ".".join(map(str, path))


def closest(name: str, candidates: Iterable[str]) -> str:
    """The candidate that is most like a name; empty where none is."""
    return next(iter(difflib.get_close_matches(name, list(candidates), 1, 0.6)), "")


def hint(name: str, candidates: Iterable[str]) -> str:
    """A hint like "; did you mean answer?", or an empty text."""
    near = closest(name, candidates)
    return f"; did you mean {near}?" if near else ""


def _path(problem: Mapping[str, Any], data: Any) -> Where:
    """The place of an error in the data: pydantic's location without the names of the types that it tried."""
    path: list[str | int] = []
    at = data
    for place, part in enumerate(problem["loc"]):
        last = place == len(problem["loc"]) - 1
        if (isinstance(at, Mapping) and part in at) or (
            isinstance(at, list) and isinstance(part, int) and part < len(at)
        ):
            path.append(part)
            at = at[part]
        elif last and problem["type"] == "missing":
            path.append(part)
    return (*path, *problem.get("ctx", {}).get("path", ()))


def _text(problem: Mapping[str, Any], path: Where, model: type[BaseModel]) -> str:
    field, kind = named(path), problem["type"]
    if "path" in problem.get("ctx", {}):  # of `fault`
        return str(problem["msg"])
    if kind == "extra_forbidden":
        allowed = fields(model, path[:-1])
        whose = f"{named(path[:-1])} can have" if path[:-1] else "there can be"
        guess = hint(str(path[-1]), allowed)
        return f"{str(path[-1])[:60]!r} is not allowed here; {whose} {words.listed(allowed)}{guess}"
    if problem["loc"] and problem["loc"][-1] == "[key]":
        return f"{field}: {str(path[-1])[:60]!r} is no name; it should be a word in small letters"
    if kind == "string_pattern_mismatch":
        return f"{field} is {str(problem['input'])[:60]!r}: it should be small letters, digits and hyphens: ring-2"
    if kind == "string_type" and isinstance(problem["input"], int | float):
        return f"{in_words(problem, field)}, in quotes"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        allowed = fields(model, path)
        return (
            f"{field} is {str(problem['input'])[:60]!r}: it should have {words.listed(allowed) or 'names with values'}"
        )
    return in_words(problem, field)


def _either(first: str, problem: Mapping[str, Any], path: Where) -> str:
    other = in_words(problem, named(path)).partition(": it should ")[2].removeprefix("be ")
    return f"{first}, or {other}" if other and other not in first else first


def fields(model: type[BaseModel], path: Where) -> list[str]:
    """The names of the fields at a place of such a model; empty where any name is allowed."""
    for kind in _kinds(_annotation(model, path)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return list(kind.model_fields)
    return []


def _annotation(model: Any, path: Where) -> Any:
    """The type of the value at this place; None where any value is allowed."""
    at: Any = model
    for part in path:
        at = next((inner for kind in _kinds(at) if (inner := _inside(kind, part)) is not None), None)
    return at


def _inside(kind: Any, part: str | int) -> Any:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        field = kind.model_fields.get(str(part))
        return field.annotation if field else None
    arguments = get_args(kind)
    if get_origin(kind) is tuple and isinstance(part, int):
        return arguments[0]
    return arguments[1] if get_origin(kind) is dict else None


def _kinds(annotated: Any) -> Iterator[Any]:
    """The types that an annotation allows."""
    if get_origin(annotated) is Annotated:
        yield from _kinds(get_args(annotated)[0])
    elif get_origin(annotated) in (Union, UnionType):
        for kind in get_args(annotated):
            yield from _kinds(kind)
    elif annotated is not None and get_origin(annotated) is not Literal:
        yield annotated


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
