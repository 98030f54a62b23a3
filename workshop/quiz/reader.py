"""Reads decks from YAML files, and reports all problems of a bad deck at once, each with file, line and advice."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import yaml
from annotated_types import MinLen
from pydantic import BaseModel, ValidationError

from workshop.core import words, yaml_files
from workshop.core.errors import BadInput, WorkshopError
from workshop.extension import Lab
from workshop.quiz import content_errors, rendering, types
from workshop.quiz.deck import Deck, schema
from workshop.quiz.form_errors import DeckMistake, Where, annotation, closest, hint, kinds, mistakes, owner
from workshop.quiz.types.base import WITH_FAULTS, Question
from workshop.registry import decks, labs

__all__ = ["BadDeck", "DeckProblem", "dump", "find", "parse", "read", "schema", "shipped"]

LARGEST = 1024 * 1024  # bytes
DEEPEST = 12  # levels
MOST = 200  # problems in a report
FILE = "quiz.yaml"  # a lab's deck
ROUNDS = 20  # of validation


@dataclass(frozen=True)
class DeckProblem:
    """A problem in a deck: its line, its question ("" outside of all questions), and a sentence."""

    line: int | None
    where: str
    text: str


class BadDeck(BadInput):
    """The deck can't be used. The text of the error has a line for each problem."""

    def __init__(self, name: str, problems: tuple[DeckProblem, ...]) -> None:
        super().__init__("\n".join(_line(name, problem) for problem in problems))
        self.problems = problems


def _line(name: str, problem: DeckProblem) -> str:
    where = f", line {problem.line}" if problem.line is not None else ""
    return f"{name}{where}: {f'{problem.where}: ' if problem.where else ''}{problem.text}"


def shipped() -> dict[str, Path]:
    """All decks of extensions, by the names of their folders; decks of labs in the order of the labs."""
    order = {lab.folder: lab.order for lab in labs()}

    def place(path: Path) -> tuple[int, str]:
        return order.get(path.parent, Lab.order), path.parent.name

    by_name: dict[str, Path] = {}
    for collection in decks():
        by_name |= {
            path.parent.name: path
            for path in sorted(collection.folder.glob(f"*/{FILE}"), key=place)
            if path.parent.name not in by_name
        }
    return by_name


def find(name: str) -> Path:
    """The file of a deck, from the name of a lab or a path. Raises BadInput."""
    paths = shipped()
    if name in paths:
        return paths[name]
    path = Path(name)
    if not path.suffix and not path.is_file():
        available = f"there are {words.listed(paths)}" if paths else "there are none here"
        guess = f" Did you mean {near}?" if (near := closest(name, paths)) else ""
        raise BadInput(f"There is no deck {name[:60]!r}; {available}, and any file.{guess}")
    return path


def read(path: Path, thorough: bool = False) -> Deck:
    """Read a deck from a file; `thorough` also asks the mapper about placements, which is slow. Raises BadDeck."""
    path = Path(path)
    try:
        text = yaml_files.read_text(path, LARGEST, "a deck")
    except BadInput as error:
        reason = str(error).removeprefix(f"{path} ").rstrip(".")
        raise BadDeck(str(path), (DeckProblem(None, "", f"the file {reason}"),)) from None
    return parse(text, str(path), path.parent, thorough)


def parse(text: str, name: str, folder: Path | None = None, thorough: bool = False) -> Deck:
    """Read a deck from the text of a file; its pictures are in `folder`. Raises BadDeck with all problems."""
    try:
        node, loader = yaml_files.compose(text, DEEPEST)
        document = yaml_files.document(node, loader)
    except yaml_files.TooDeep as error:
        raise BadDeck(
            name, (DeckProblem(None, "", f"the file {error}; a deck has {DEEPEST} levels at most"),)
        ) from None
    except yaml_files.Unreadable as error:
        raise BadDeck(name, (DeckProblem(error.line, "", f"the file {error}".rstrip(".")),)) from None
    if node is None or not isinstance(document, dict):
        expected = "the file holds no deck; it should have lines like `deck: ring`, `title: ...` and `questions: ...`"
        raise BadDeck(name, (DeckProblem(None, "", expected),))
    lines = _Lines(node, document)
    problems = [DeckProblem(line, "", text.rstrip(".")) for line, text in yaml_files.bad_keys(node)]
    problems += [lines.problem(mistake) for mistake in _mistakes(document, folder, thorough)]
    if problems:
        ordered = sorted(dict.fromkeys(problems), key=lambda problem: problem.line or 0)
        if len(ordered) > MOST:
            ordered[MOST:] = [DeckProblem(None, "", f"and {len(ordered) - MOST} more problems")]
        raise BadDeck(name, tuple(ordered))
    return Deck.model_validate(document)


def _mistakes(document: Mapping[str, Any], folder: Path | None, thorough: bool) -> Iterator[DeckMistake]:
    """All mistakes in a deck, with their places in the document."""
    yield from _heading(document)
    questions = document.get("questions")
    for place, raw in enumerate(questions if isinstance(questions, list) else []):
        check = look(raw)
        meaning = content_errors.problems(check.question, folder) if check.question is not None else ()
        problems = [*check.mistakes, *(mistake for mistake in meaning if check.concerns(mistake))]
        if thorough and not problems and check.question is not None:
            problems += _slow_mistakes(check.question)
        for mistake in problems:
            yield DeckMistake(("questions", place, *mistake.path), mistake.text)
    yield from _names(questions)
    yield from _short(document.get("short"), questions)


def _short(short: Any, questions: Any) -> Iterator[DeckMistake]:
    """Report what is no list of ids of questions."""
    if short is not None and not isinstance(short, list):
        yield DeckMistake(("short",), "short should be a list of ids of questions")
        return
    rows = [raw for raw in questions if isinstance(raw, Mapping)] if isinstance(questions, list) else []
    ids = [row["id"] for row in rows if isinstance(row.get("id"), str)]
    for place, id in enumerate(short or []):
        if id not in ids:
            yield DeckMistake(("short", place), f"{str(id)[:60]!r} is the id of no question{hint(str(id), ids)}")
        elif id in (short or [])[:place]:
            yield DeckMistake(("short", place), f"the id {id!r} is there twice")


def _heading(document: Mapping[str, Any]) -> Iterator[DeckMistake]:
    """Mistakes outside of the questions. Valid questions take the place of the deck's, which are checked separately."""
    questions = document.get("questions")
    placeholders = [
        {"id": f"x{number}", "type": "text", "text": "x", "accept": ["x"]}
        for number in range(len(questions) if isinstance(questions, list) else 0)
    ]
    replaced = {"questions": placeholders, "short": ()} if isinstance(questions, list) else {}
    try:
        Deck.model_validate({**document, **replaced})
    except ValidationError as error:
        yield from mistakes(error, Deck, document)
    if isinstance(about := document.get("about"), str):
        for problem in rendering.problems(about):
            yield DeckMistake(("about",), problem)
        for name in sorted(rendering.names(about)):
            yield DeckMistake(
                ("about",), f"{{{name}}} is no number; only questions have some, and code is in backticks"
            )


def _names(questions: Any) -> Iterator[DeckMistake]:
    """Report questions with the id of an earlier question."""
    rows = questions if isinstance(questions, list) else []  # `_heading` reports other types
    named = [raw.get("id") if isinstance(raw, Mapping) else None for raw in rows]
    times = Counter(name for name in named if isinstance(name, str))
    for place, name in enumerate(named):
        if isinstance(name, str) and times[name] > 1 and (first := named.index(name)) < place:
            message = f"id {name[:60]!r} is already that of question {first + 1}; each should have one of its own"
            yield DeckMistake(("questions", place, "id"), message)


def _slow_mistakes(question: Question) -> Iterator[DeckMistake]:
    try:
        for path, text in question.slow_problems():
            yield DeckMistake(path, text)
    except WorkshopError as error:
        yield DeckMistake(("right",), str(error).rstrip("."))


class _Lines:
    """Finds the line of each part of a document."""

    def __init__(self, node: yaml.Node, document: Mapping[str, Any]) -> None:
        self.node, self.document = node, document

    def problem(self, mistake: DeckMistake) -> DeckProblem:
        return DeckProblem(
            yaml_files.line_of(self.node, mistake.path), self._where(mistake.path), mistake.text.rstrip(".")
        )

    def _where(self, path: Where) -> str:
        if len(path) < 2 or path[0] != "questions":
            return ""
        raw = self.document["questions"][path[1]]
        name = raw.get("id") if isinstance(raw, Mapping) else None
        return f"question {name[:60] if isinstance(name, str) and name else int(path[1]) + 1}"


def dump(deck: Deck) -> str:
    """A deck as YAML, without fields at their defaults. Reading it gives the same deck."""
    document = deck.model_dump(mode="json", exclude_defaults=True)
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


class _Dumper(yaml.SafeDumper):
    """Writes YAML for `yaml_files.Loader`: the text `1e3` gets quotes, as the core schema needs, and there are no
    aliases."""

    yaml_implicit_resolvers = yaml_files.Loader.yaml_implicit_resolvers

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.Node:
    """Write texts of several lines as a block."""
    block = "\n" in text and not any(line.endswith(" ") for line in text.split("\n"))
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if block else None)


_Dumper.add_representer(str, _text)


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
    """Check the form of a question as it was read from YAML. Each part that pydantic refuses is reported and replaced
    in a copy by a valid placeholder. The copy becomes a question, whose parts are then checked together."""
    if not isinstance(raw, Mapping):
        return QuestionCheck(
            (DeckMistake((), f"{str(raw)[:60]!r} is no question; it should have id, type and text"),), None
        )
    reported: list[DeckMistake] = []
    mended: list[Where] = []
    work = copy.deepcopy(dict(raw))
    kind = _class_of(work, reported)
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


def _class_of(work: dict[str, Any], reported: list[DeckMistake]) -> type[Question] | None:
    """The class of a question's type; for a misspelt type, the class of the most similar one."""
    name, classes = work.get("type"), types.classes()
    if isinstance(name, str) and name in classes:
        return classes[name]
    if name is None:
        reported.append(DeckMistake(("type",), f"type is missing; it should be one of {words.listed(classes)}"))
        return None
    guess = hint(str(name), classes)
    reported.append(
        DeckMistake(("type",), f"type is {str(name)[:60]!r}; it should be one of {words.listed(classes)}{guess}")
    )
    if near := closest(str(name), classes):
        work["type"] = near
    return classes.get(near)


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
