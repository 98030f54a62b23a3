"""Finds everything that is wrong in one question.

pydantic looks at all parts of a question at once. What it finds wrong is told, and replaced in a copy by something
harmless. The copy is a question, which can be asked what of it doesn't fit together, and whether it makes sense.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from annotated_types import MinLen
from pydantic import BaseModel, ValidationError

from workshop.core import words
from workshop.quiz.deck import WITH_FAULTS, Base, Question
from workshop.quiz.form_errors import DeckMistake, Where, annotation, kinds, mistakes, nearest, owner

ROUNDS = 20  # of looking again
TYPES: dict[str, type[Base]] = {
    get_args(kind.model_fields["type"].annotation)[0]: kind for kind in get_args(get_args(Question)[0])
}


@dataclass(frozen=True)
class QuestionCheck:
    """What is wrong, and the question as far as it can be made out; `mended` are the places where it isn't as it was
    written."""

    mistakes: tuple[DeckMistake, ...]
    question: Base | None
    mended: tuple[Where, ...] = ()

    def concerns(self, mistake: DeckMistake) -> bool:
        """Whether a mistake of the mended question is about something that was written."""
        return _concerns(mistake, self.mended)


def look(raw: Any) -> QuestionCheck:
    """Everything that is wrong in the form of a question, as it was read."""
    if not isinstance(raw, Mapping):
        return QuestionCheck(
            (DeckMistake((), f"{str(raw)[:60]!r} is no question; it should have id, type and text"),), None
        )
    told: list[DeckMistake] = []
    mended: list[Where] = []
    work = copy.deepcopy(dict(raw))
    kind = _type(work, told)
    if kind is None:
        return QuestionCheck(tuple(told), None)
    for _ in range(ROUNDS):
        try:
            question = kind.model_validate(work, context=WITH_FAULTS)
        except ValidationError as error:
            found = mistakes(error, kind, work)
        else:
            faults = [fault for path, text in question.faults() if _concerns(fault := DeckMistake(path, text), mended)]
            # What makes no sense in the same places needn't be told; lists that don't fit may have more in them.
            mended += [fault.path for fault in faults if fault.path[0] not in ("numbers", "options", "items", "pairs")]
            return QuestionCheck((*told, *faults), question, tuple(mended))
        told += [mistake for mistake in found if _concerns(mistake, mended)]
        for mistake in found:
            mended += _mend(work, mistake, kind)
    return QuestionCheck(tuple(told), None)


def _concerns(mistake: DeckMistake, mended: Sequence[Where]) -> bool:
    at = mistake.path
    gone = [place[1] for place in mended if len(place) == 2 and place[0] in ("numbers", "runs")]
    if any(f"names {name}," in mistake.text or mistake.text.startswith(f"{{{name}}} ") for name in gone):
        return False  # it has been taken away here, because of something else
    if at == ("numbers",):  # what they are called
        return True
    if at == ("options",):  # which of them are right, or that two are the same
        part = "text" if "twice" in mistake.text else "right"
        return not any(len(place) < 3 or place[2] == part for place in mended if place[:1] == at)
    return not any(at[: len(place)] == place or place[: len(at)] == at for place in mended)


def _type(work: dict[str, Any], told: list[DeckMistake]) -> type[Base] | None:
    """The model of a question; where its type is misspelt, that of the type that was likely meant."""
    given = work.get("type")
    if isinstance(given, str) and given in TYPES:
        return TYPES[given]
    if given is None:
        told.append(DeckMistake(("type",), f"type is missing; it should be one of {words.listed(TYPES)}"))
        return None
    guess = nearest(str(given), TYPES)
    told.append(
        DeckMistake(("type",), f"type is {str(given)[:60]!r}; it should be one of {words.listed(TYPES)}{guess}")
    )
    if not guess:
        return None
    work["type"] = guess.removeprefix("; did you mean ").removesuffix("?")
    return TYPES[work["type"]]


def _mend(work: dict[str, Any], mistake: DeckMistake, kind: type[Base]) -> list[Where]:
    """Replace what is wrong by something harmless, and say where."""
    path = mistake.path
    holder: Any = work
    try:
        for part in path[:-1]:
            holder = holder[part]
    except (KeyError, IndexError):
        return [path]  # what held it has gone already
    last, known = path[-1], owner(kind, path)
    if mistake.kind in ("name", "extra_forbidden"):
        holder.pop(last, None)  # an earlier mistake may have replaced what held it
        return [path] if mistake.kind == "name" else []
    if path[0] == "numbers" and len(path) > 1:
        work["numbers"][path[1]] = {"values": [1]}  # its name must stay: expressions use it
        return [path[:2]]
    if isinstance(holder, list):
        holder[int(last)] = _harmless(annotation(kind, path))
    elif known is None or not known.is_required():
        holder.pop(last, None)
    else:
        holder[last] = _harmless(
            known.annotation, next((one.min_length for one in known.metadata if isinstance(one, MinLen)), 0)
        )
    return [path]


def _harmless(annotated: Any, least: int = 0) -> Any:
    """A value of such a type that says nothing."""
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
