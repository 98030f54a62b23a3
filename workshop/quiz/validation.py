"""Finds all mistakes in the form of one question.

pydantic checks all parts of a question at once. Each part that it refuses is reported, and replaced in a copy by a
valid placeholder. The copy becomes a question, whose parts are then checked together.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from annotated_types import MinLen
from pydantic import BaseModel, ValidationError

from workshop.core import words
from workshop.quiz import types
from workshop.quiz.form_errors import DeckMistake, Where, annotation, kinds, mistakes, nearest, owner
from workshop.quiz.types.base import WITH_FAULTS, Question

ROUNDS = 20  # of validation


@dataclass(frozen=True)
class QuestionCheck:
    """The mistakes of a question, and the question itself as far as it can be read; `mended` are the places where
    placeholders replace the author's text."""

    mistakes: tuple[DeckMistake, ...]
    question: Question | None
    mended: tuple[Where, ...] = ()

    def concerns(self, mistake: DeckMistake) -> bool:
        """Whether a mistake of the mended question concerns the author's text, not a placeholder."""
        return _concerns(mistake, self.mended)


def look(raw: Any) -> QuestionCheck:
    """Check the form of a question as it was read from YAML."""
    if not isinstance(raw, Mapping):
        return QuestionCheck(
            (DeckMistake((), f"{str(raw)[:60]!r} is no question; it should have id, type and text"),), None
        )
    reported: list[DeckMistake] = []
    mended: list[Where] = []
    work = copy.deepcopy(dict(raw))
    kind = _type(work, reported)
    if kind is None:
        return QuestionCheck(tuple(reported), None)
    for _ in range(ROUNDS):
        try:
            question = kind.model_validate(work, context=WITH_FAULTS)
        except ValidationError as error:
            new_mistakes = mistakes(error, kind, work)
        else:
            faults = [fault for path, text in question.faults() if _concerns(fault := DeckMistake(path, text), mended)]
            # Faults suppress mistakes in the content of the same places, except in lists, whose items are independent.
            mended += [fault.path for fault in faults if fault.path[0] not in ("numbers", "options", "items", "pairs")]
            return QuestionCheck((*reported, *faults), question, tuple(mended))
        reported += [mistake for mistake in new_mistakes if _concerns(mistake, mended)]
        for mistake in new_mistakes:
            mended += _mend(work, mistake, kind)
    return QuestionCheck(tuple(reported), None)


def _concerns(mistake: DeckMistake, mended: Sequence[Where]) -> bool:
    at = mistake.path
    gone = [place[1] for place in mended if len(place) == 2 and place[0] in ("numbers", "runs")]
    if any(f"names {name}," in mistake.text or mistake.text.startswith(f"{{{name}}} ") for name in gone):
        return False  # the name is only missing because `_mend` has removed it
    if at == ("numbers",):  # a mistake in their names
        return True
    if at == ("options",):  # too few or too many right ones, or two equal ones
        part = "text" if "twice" in mistake.text else "right"
        return not any(len(place) < 3 or place[2] == part for place in mended if place[:1] == at)
    return not any(at[: len(place)] == place or place[: len(at)] == at for place in mended)


def _type(work: dict[str, Any], reported: list[DeckMistake]) -> type[Question] | None:
    """The class of a question's type; for a misspelt type, the class of the most similar one."""
    name, classes = work.get("type"), types.classes()
    if isinstance(name, str) and name in classes:
        return classes[name]
    if name is None:
        reported.append(DeckMistake(("type",), f"type is missing; it should be one of {words.listed(classes)}"))
        return None
    guess = nearest(str(name), classes)
    reported.append(
        DeckMistake(("type",), f"type is {str(name)[:60]!r}; it should be one of {words.listed(classes)}{guess}")
    )
    if not guess:
        return None
    work["type"] = guess.removeprefix("; did you mean ").removesuffix("?")
    return classes[work["type"]]


def _mend(work: dict[str, Any], mistake: DeckMistake, kind: type[Question]) -> list[Where]:
    """Replace a wrong part by a valid placeholder, and return the changed places."""
    path = mistake.path
    holder: Any = work
    try:
        for part in path[:-1]:
            holder = holder[part]
    except (KeyError, IndexError):
        return [path]  # an earlier mistake has removed the parent
    last, field = path[-1], owner(kind, path)
    if mistake.kind in ("name", "extra_forbidden"):
        holder.pop(last, None)  # an earlier mistake may have replaced the parent
        return [path] if mistake.kind == "name" else []
    if path[0] == "numbers" and len(path) > 1:
        work["numbers"][path[1]] = {"values": [1]}  # expressions use the name, so it must stay
        return [path[:2]]
    if isinstance(holder, list):
        holder[int(last)] = _harmless(annotation(kind, path))
    elif field is None or not field.is_required():
        holder.pop(last, None)
    else:
        holder[last] = _harmless(
            field.annotation,
            next((constraint.min_length for constraint in field.metadata if isinstance(constraint, MinLen)), 0),
        )
    return [path]


def _harmless(annotated: Any, least: int = 0) -> Any:
    """A minimal valid value of such a type."""
    if get_origin(annotated) is Literal:
        return get_args(annotated)[0]
    for kind in kinds(annotated):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return {
                name: _harmless(field.annotation) for name, field in kind.model_fields.items() if field.is_required()
            }
        if get_origin(kind) is tuple:
            return [_harmless(get_args(kind)[0]) for _ in range(least)]
        if get_origin(kind) is dict:
            return {"x": _harmless(get_args(kind)[1])} if least else {}
        if kind in (int, float):
            return 1
    return "x"
