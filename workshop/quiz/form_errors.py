"""What pydantic finds wrong in a deck, in words that name what would be right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from workshop.core import words
from workshop.core.errors import told

Where = tuple[str | int, ...]  # keys and places, from the top of what was checked


@dataclass(frozen=True)
class DeckMistake:
    """Something wrong. `kind` is pydantic's type of the error, or ours."""

    path: Where
    text: str
    kind: str = "meaning"


def mistakes(error: ValidationError, model: type[BaseModel], data: Any) -> list[DeckMistake]:
    """All that is wrong in `data`, which should be such a model: one mistake for each place."""
    found: dict[Where, DeckMistake] = {}
    for problem in error.errors(include_url=False):
        path = _path(problem, data)
        if problem["type"] == "too_short" and len(problem["input"]) >= problem["ctx"]["min_length"]:
            continue  # pydantic counts only the parts that are right; each of the others has its own mistake
        if path in found:  # each part of a union has its own error: a number, or text
            found[path] = DeckMistake(path, _either(found[path].text, problem, path), found[path].kind)
        else:
            kind = "name" if problem["loc"][-1:] == ("[key]",) else problem["type"]
            found[path] = DeckMistake(path, _text(problem, path, model), kind)
    return list(found.values())


def named(path: Where) -> str:
    return ".".join(map(str, path))


def nearest(name: str, known: Iterable[str]) -> str:
    """ "; did you mean answer?", or nothing."""
    near = difflib.get_close_matches(name, list(known), 1, 0.6)
    return f"; did you mean {near[0]}?" if near else ""


def _path(problem: Mapping[str, Any], data: Any) -> Where:
    """Where it is in the data: pydantic's location without the names of types that it tried."""
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
    return tuple(path)


def _text(problem: Mapping[str, Any], path: Where, model: type[BaseModel]) -> str:
    field, kind = named(path), problem["type"]
    if kind == "extra_forbidden":
        known = fields(model, path[:-1])
        whose = f"{named(path[:-1])} can have" if path[:-1] else "there can be"
        guess = nearest(str(path[-1]), known)
        return f"{str(path[-1])[:60]!r} is not known here; {whose} {words.listed(known)}{guess}"
    if problem["loc"] and problem["loc"][-1] == "[key]":
        return f"{field}: {str(path[-1])[:60]!r} is no name; it should be a word in small letters"
    if kind == "string_pattern_mismatch":
        return f"{field} is {str(problem['input'])[:60]!r}: it should be small letters, digits and hyphens: ring-2"
    if kind == "string_type" and isinstance(problem["input"], int | float):
        return f"{told(problem, field)}, in quotes"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        known = fields(model, path)
        return f"{field} is {str(problem['input'])[:60]!r}: it should have {words.listed(known) or 'names with values'}"
    return told(problem, field)


def _either(first: str, problem: Mapping[str, Any], path: Where) -> str:
    other = told(problem, named(path)).partition(": it should ")[2].removeprefix("be ")
    return f"{first}, or {other}" if other and other not in first else first


def fields(model: type[BaseModel], path: Where) -> list[str]:
    """What there can be at a place of such a model; empty where any name can."""
    for kind in kinds(annotation(model, path)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return list(kind.model_fields)
    return []


def owner(model: type[BaseModel], path: Where) -> Any:
    """The field of a model that is at this place, as pydantic knows it; None for what is in a list or free."""
    for kind in kinds(annotation(model, path[:-1])):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind.model_fields.get(str(path[-1]))
    return None


def annotation(model: Any, path: Where) -> Any:
    """The type of what is at this place; None where anything may be."""
    at: Any = model
    for part in path:
        at = next((inner for kind in kinds(at) if (inner := _inside(kind, part)) is not None), None)
    return at


def _inside(kind: Any, part: str | int) -> Any:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        known = kind.model_fields.get(str(part))
        return known.annotation if known else None
    arguments = get_args(kind)
    if get_origin(kind) is tuple and isinstance(part, int):
        return arguments[0]
    return arguments[1] if get_origin(kind) is dict else None


def kinds(annotated: Any) -> Iterator[Any]:
    """The types that something may have."""
    if get_origin(annotated) is Annotated:
        yield from kinds(get_args(annotated)[0])
    elif get_origin(annotated) in (Union, UnionType):
        for kind in get_args(annotated):
            yield from kinds(kind)
    elif annotated is not None and get_origin(annotated) is not Literal:
        yield annotated
