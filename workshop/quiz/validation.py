"""Finds everything that is wrong in one question.

pydantic looks at how parts fit together only where each of them is right. So what is found wrong is told, replaced in a
copy by something harmless, and the copy is looked at again, until there is nothing more to find; what it then is can
be asked whether it makes sense.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from annotated_types import MinLen
from pydantic import BaseModel, ValidationError

from workshop.core import words
from workshop.quiz.deck import Base, Question
from workshop.quiz.expressions import FUNCTIONS
from workshop.quiz.form_errors import DeckMistake, Where, annotation, kinds, mistakes, nearest, owner

ROUNDS = 20  # of looking again
TYPES: dict[str, type[Base]] = {
    get_args(kind.model_fields["type"].annotation)[0]: kind for kind in get_args(get_args(Question)[0])
}
_WHERE = re.compile(r"([a-z_]+)(?:\.([0-9]+))?: ")  # at the beginning of what a whole question's validator says


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
    fresh = _Fresh()
    for _ in range(ROUNDS):
        try:
            return QuestionCheck(tuple(told), kind.model_validate(work), tuple(mended))
        except ValidationError as error:
            found = [_placed(mistake) for mistake in mistakes(error, kind, work)]
        told += [mistake for mistake in found if _concerns(mistake, mended)]
        for mistake in found:
            places = _mend(work, mistake, kind, fresh)
            if places is None:
                return QuestionCheck(tuple(told), None)
            mended += places
    return QuestionCheck(tuple(told), None)


def _concerns(mistake: DeckMistake, mended: Sequence[Where]) -> bool:
    at = mistake.path
    gone = [place[1] for place in mended if len(place) == 2 and place[0] in ("numbers", "runs")]
    if any(f"names {name}," in mistake.text or mistake.text.startswith(f"{{{name}}} ") for name in gone):
        return False  # it has been taken away here, because of something else
    if mistake.kind == "value_error" and at == ("numbers",):  # what they are called
        return True
    if mistake.kind == "value_error" and at == ("options",):  # which of them are right, or that two are the same
        touched = [place for place in mended if place[:1] == at]
        return not any(len(place) < 3 or place[2] == "right" or "twice" in mistake.text for place in touched)
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


def _placed(mistake: DeckMistake) -> DeckMistake:
    """What a whole question's validator says names the place at its beginning: "near.0: ..."."""
    found = _WHERE.match(mistake.text) if not mistake.path else None
    if not found:
        return mistake
    path: Where = (found[1],) if found[2] is None else (found[1], int(found[2]))
    return DeckMistake(path, mistake.text, mistake.kind)


class _Fresh:
    """Texts that nothing else has: x1, x2, …"""

    def __init__(self) -> None:
        self.count = 0

    def text(self) -> str:
        self.count += 1
        return f"x{self.count}"


def _mend(work: dict[str, Any], mistake: DeckMistake, kind: type[Base], fresh: _Fresh) -> list[Where] | None:
    """Replace what is wrong by something harmless, and say where. None where that would make other things wrong."""
    path = mistake.path
    if mistake.kind == "value_error" and (places := _mended_together(work, mistake, fresh)):
        return places
    if not path:
        return None
    holder: Any = work
    try:
        for part in path[:-1]:
            holder = holder[part]
    except (KeyError, IndexError):
        return [path]  # what held it has gone already
    last, known = path[-1], owner(kind, path)
    if mistake.kind == "name":
        holder.pop(last, None)
        return [path]
    if mistake.kind == "extra_forbidden":
        holder.pop(last, None)  # an earlier mistake may have replaced what held it
        return []
    if path[0] == "numbers" and len(path) > 1:
        work["numbers"][path[1]] = {"values": [1]}  # its name must stay: expressions use it
        return [path[:2]]
    if isinstance(holder, list):
        holder[int(last)] = _harmless(annotation(kind, path), fresh)
    elif known is None or not known.is_required():
        holder.pop(last, None)
    elif path == ("truth",):
        holder[last] = "1"
    else:
        holder[last] = _harmless(known.annotation, fresh, _least(known))
    return [path]


def _mended_together(work: dict[str, Any], mistake: DeckMistake, fresh: _Fresh) -> list[Where]:
    """What concerns several parts at once: options of which too many are right, parts that are there twice, placements
    with fields that aren't asked for."""
    path, kind = mistake.path, work["type"]
    if path == ("numbers",):
        functions = [name for name in work["numbers"] if name in FUNCTIONS]
        for name in functions:
            del work["numbers"][name]
        return [("numbers", name) for name in functions]
    if mistake.text.endswith("is there twice"):
        return _made_unlike(work, fresh)
    if path == ("options",):
        for place, option in enumerate(work["options"]):
            option["right"] = place == 0
        return [path]
    if kind == "place" and path[:1] in (("right",), ("near",), ("given",)):
        at = (*path, "placement") if path[0] == "near" else path
        holder = work["near"][path[1]]["placement"] if path[0] == "near" else work[path[0]]
        wrong = [name for name in holder if (name in work["ask"]) == (path[0] == "given")]
        for name in wrong:
            del holder[name]
        return [(*at, name) for name in wrong]
    if kind == "number" and path[:1] == ("near",) and len(path) == 2:
        work["near"][path[1]]["answer"] = 0
        return [(*path, "answer")]
    return []


def _made_unlike(work: dict[str, Any], fresh: _Fresh) -> list[Where]:
    """Options, items and pairs of which none is like another; what they say is still all there."""
    for option in work.get("options") or []:
        option["text"] += f" {fresh.text()}"
    for pair in work.get("pairs") or []:
        pair.update(left=f"{pair['left']} {fresh.text()}", right=f"{pair['right']} {fresh.text()}")
    for name in ("items", "extra"):
        if name in work:
            work[name] = [f"{item} {fresh.text()}" for item in work[name]]
    return [("alike",)]


def _harmless(annotated: Any, fresh: _Fresh, least: int = 0) -> Any:
    """A value of such a type that says nothing."""
    if get_origin(annotated) is Literal:
        return get_args(annotated)[0]
    for kind in kinds(annotated):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            wanted = {name: field for name, field in kind.model_fields.items() if field.is_required()}
            return {name: _harmless(field.annotation, fresh, _least(field)) for name, field in wanted.items()}
        if get_origin(kind) is tuple:
            return [_harmless(get_args(kind)[0], fresh) for _ in range(least)]
        if get_origin(kind) is dict:
            return {fresh.text(): _harmless(get_args(kind)[1], fresh) for _ in range(least)}
        if kind in (int, float):
            return 1
    return fresh.text()


def _least(field: Any) -> int:
    return next((one.min_length for one in field.metadata if isinstance(one, MinLen)), 0)
