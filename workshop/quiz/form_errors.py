"""Translates pydantic's errors in a deck into sentences that say what would be right.

Finds mistakes in what a question would run: its workload, params and placement.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
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
Mistake = tuple[Where, str]  # a place in the document, and a sentence about it


def fault(path: Where, text: str) -> PydanticCustomError:
    """An error for a validator to raise: a contradiction between parts that are valid one by one, with its place."""
    return PydanticCustomError("value_error", "{text}", {"path": path, "text": text})


def mistakes(error: ValidationError, model: type[BaseModel], data: Any) -> list[Mistake]:
    """All mistakes in `data`, which should be such a model: one for each place."""
    by_path: dict[Where, str] = {}
    for problem in error.errors(include_url=False):
        path = _path(problem, data)
        if problem["type"] == "too_short" and len(problem["input"]) >= problem["ctx"]["min_length"]:
            continue  # pydantic counts only the valid parts; each of the others has its own mistake
        if path not in by_path:
            by_path[path] = _text(problem, path, model)
        else:  # pydantic reports one error for each type of a union: a number, or text
            other = in_words(problem, named(path)).partition(": it should ")[2].removeprefix("be ")
            by_path[path] += f", or {other}" if other and other not in by_path[path] else ""
    return list(by_path.items())


def named(path: Where) -> str:
    return ".".join(map(str, path))


def hint(name: str, candidates: Iterable[str]) -> str:
    """A hint like "; did you mean answer?", or an empty text."""
    return "".join(f"; did you mean {near}?" for near in difflib.get_close_matches(name, list(candidates), 1))


def _path(problem: Mapping[str, Any], data: Any) -> Where:
    """The place of an error in the data: pydantic's location without the names of the types that it tried."""
    path: list[str | int] = []
    for part in problem["loc"]:
        if part in (data if isinstance(data, Mapping) else range(len(data) if isinstance(data, list) else 0)):
            path.append(part)
            data = data[part]
    missing = problem["loc"][-1:] if problem["type"] == "missing" else ()
    return (*path, *missing, *problem.get("ctx", {}).get("path", ()))


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
        parts = words.listed(fields(model, path)) or "names with values"
        return f"{field} is {str(problem['input'])[:60]!r}: it should have {parts}"
    return in_words(problem, field)


def fields(model: type[BaseModel], path: Where) -> list[str]:
    """The names of the fields at a place of such a model; empty where any name is allowed."""
    kinds: list[Any] = [model]
    for part in path:
        kinds = [inner for kind in kinds for inner in _kinds(_inside(kind, part))]
    return next((list(kind.model_fields) for kind in kinds if _is_model(kind)), [])


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _inside(kind: Any, part: str | int) -> Any:
    if _is_model(kind):
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


def run_problems(run: RunWanted, path: Where) -> Iterator[Mistake]:
    """Report an unknown workload, and params and placement fields that can't be run."""
    if run.workload in workloads():
        yield from model_problems(workload(run.workload).params, run.params, (*path, "params"))
    else:
        available = f"{words.listed(workloads())}{hint(run.workload, workloads())}"
        yield (*path, "workload"), f"there is no workload {run.workload!r}; there are {available}"
    yield from model_problems(Placement, run.placement, (*path, "placement"))
    yield from mpi_problems(run.placement, (*path, "placement"))


def model_problems(
    model: type[BaseModel], values: Mapping[str, Any], path: Where, others: Mapping[str, Any] | None = None
) -> Iterator[Mistake]:
    """The errors of a pydantic model for these values, together with `others` that are right."""
    try:
        model.model_validate({**(others or {}), **values})
    except ValidationError as error:
        for inner, text in mistakes(error, model, dict(values)):
            yield (*path, *inner), f"{named(path)}: {text}"


def mpi_problems(placement: Mapping[str, Any], path: Where) -> Iterator[Mistake]:
    """Report an unknown MPI of a placement; the model itself accepts any text."""
    try:
        if isinstance(name := placement.get("mpi"), str):
            implementation(name)
    except BadInput as error:
        yield (*path, "mpi"), f"{named(path)}: {str(error).rstrip('.')}"
