"""Decks from YAML files, and every problem of a bad one at once: file, line, what is wrong and what would be right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from workshop.core import words, yaml_files
from workshop.core.errors import BadInput, WorkshopError
from workshop.extension import Lab
from workshop.quiz import content_errors, placement_questions, rendering
from workshop.quiz.deck import Deck, Place
from workshop.quiz.form_errors import DeckMistake, Where, mistakes, nearest
from workshop.quiz.schema import schema
from workshop.quiz.validation import QuestionCheck, look
from workshop.registry import decks, labs

__all__ = ["BadDeck", "DeckProblem", "dump", "find", "parse", "read", "schema", "shipped"]

LARGEST = 1024 * 1024  # bytes
DEEPEST = 12  # levels
MOST = 200  # problems that are told
FILE = "quiz.yaml"  # a lab's deck


@dataclass(frozen=True)
class DeckProblem:
    """Something wrong in a deck: its line, which question it is in ("" outside of all), and a sentence."""

    line: int | None
    where: str
    text: str


class BadDeck(BadInput):
    """A deck that can't be used. Its text has a line for each problem."""

    def __init__(self, name: str, found: tuple[DeckProblem, ...]) -> None:
        super().__init__("\n".join(_line(name, problem) for problem in found))
        self.problems = found


def _line(name: str, problem: DeckProblem) -> str:
    where = f", line {problem.line}" if problem.line is not None else ""
    return f"{name}{where}: {f'{problem.where}: ' if problem.where else ''}{problem.text}"


def shipped() -> dict[str, Path]:
    """All decks that extensions bring, by the names of their folders; those of labs in the order of the labs."""
    order = {lab.folder: lab.order for lab in labs()}

    def place(path: Path) -> tuple[int, str]:
        return order.get(path.parent, Lab.order), path.parent.name

    found: dict[str, Path] = {}
    for brought in decks():
        found |= {
            path.parent.name: path
            for path in sorted(brought.folder.glob(f"*/{FILE}"), key=place)
            if path.parent.name not in found
        }
    return found


def find(name: str) -> Path:
    """The file of a deck: that of a lab, or the one of this path. Raises BadInput."""
    known = shipped()
    if name in known:
        return known[name]
    path = Path(name)
    if not path.suffix and not path.is_file():
        there = f"there are {words.listed(known)}" if known else "there are none here"
        guess = nearest(name, known).removeprefix("; did")
        raise BadInput(f"There is no deck {name[:60]!r}; {there}, and any file.{f' Did{guess}' if guess else ''}")
    return path


def read(path: Path, thorough: bool = False) -> Deck:
    """A deck from a file; `thorough` also asks the mapper about its placements, which takes a while. Raises BadDeck."""
    path = Path(path)
    try:
        text = yaml_files.read_text(path, LARGEST, "a deck")
    except BadInput as error:
        said = str(error).removeprefix(f"{path} ").rstrip(".")
        raise BadDeck(str(path), (DeckProblem(None, "", f"the file {said}"),)) from None
    return parse(text, str(path), path.parent, thorough)


def parse(text: str, name: str, folder: Path | None = None, thorough: bool = False) -> Deck:
    """A deck from the text of a file of that name; its pictures are in `folder`. Raises BadDeck with all problems."""
    try:
        node, loader = yaml_files.compose(text, DEEPEST)
        document = yaml_files.document(node, loader)
    except yaml_files.TooDeep as error:
        raise BadDeck(
            name, (DeckProblem(None, "", f"the file {error}; a deck has {DEEPEST} levels at most"),)
        ) from None
    except yaml_files.Unreadable as error:
        raise BadDeck(name, (DeckProblem(error.line, "", f"the file {error}".rstrip(".")),)) from None
    if not isinstance(document, dict):
        said = "the file holds no deck; it should have lines like `deck: ring`, `title: ...` and `questions: ...`"
        raise BadDeck(name, (DeckProblem(None, "", said),))
    lines = _Lines(node, document)
    found = [DeckProblem(line, "", text.rstrip(".")) for line, text in yaml_files.bad_keys(node)]
    found += [lines.problem(mistake) for mistake in _mistakes(document, folder, thorough)]
    if found:
        ordered = sorted(dict.fromkeys(found), key=lambda problem: problem.line or 0)
        if len(ordered) > MOST:
            ordered[MOST:] = [DeckProblem(None, "", f"and {len(ordered) - MOST} more problems")]
        raise BadDeck(name, tuple(ordered))
    return Deck.model_validate(document)


def _mistakes(document: Mapping[str, Any], folder: Path | None, thorough: bool) -> Iterator[DeckMistake]:
    """Everything that is wrong in a deck, with its place in the document."""
    yield from _heading(document)
    questions = document.get("questions")
    for place, raw in enumerate(questions if isinstance(questions, list) else []):
        found = look(raw)
        meaning = content_errors.problems(found.question, folder) if found.question is not None else ()
        told = [*found.mistakes, *(mistake for mistake in meaning if found.concerns(mistake))]
        if thorough and not told and isinstance(found.question, Place):
            told += _asked_mapper(found)
        for mistake in told:
            yield DeckMistake(("questions", place, *mistake.path), mistake.text)
    yield from _names(questions)


def _heading(document: Mapping[str, Any]) -> Iterator[DeckMistake]:
    """What is wrong outside of the questions."""
    questions = document.get("questions")
    harmless = [
        {"id": f"x{number}", "type": "text", "text": "x", "accept": ["x"]}
        for number in range(len(questions) if isinstance(questions, list) else 0)
    ]
    stands_for = {"questions": harmless} if isinstance(questions, list) else {}
    try:
        Deck.model_validate({**document, **stands_for})
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
    """Questions that are called like another one."""
    rows = questions if isinstance(questions, list) else []  # what is no list is told by `_heading`
    named = [raw.get("id") if isinstance(raw, Mapping) else None for raw in rows]
    times = Counter(name for name in named if isinstance(name, str))
    for place, name in enumerate(named):
        if isinstance(name, str) and times[name] > 1 and (first := named.index(name)) < place:
            said = f"id {name[:60]!r} is already that of question {first + 1}; each should have one of its own"
            yield DeckMistake(("questions", place, "id"), said)


def _asked_mapper(found: QuestionCheck) -> Iterator[DeckMistake]:
    try:
        for path, text in placement_questions.problems(found.question):
            yield DeckMistake(path, text)
    except WorkshopError as error:
        yield DeckMistake(("right",), str(error).rstrip("."))


class _Lines:
    """In which line of a file each part of a document is."""

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
    """A deck as YAML, which reads as the same deck; what is as it would be anyway is left out."""
    document = deck.model_dump(mode="json", exclude_defaults=True)
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


class _Dumper(yaml.SafeDumper):
    """Writes what `yaml_files.Loader` reads: in the core schema `1e3` needs quotes where it is text; and no aliases."""

    yaml_implicit_resolvers = yaml_files.Loader.yaml_implicit_resolvers

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.Node:
    """Texts of several lines stand as a block."""
    block = "\n" in text and not any(line.endswith(" ") for line in text.split("\n"))
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if block else None)


_Dumper.add_representer(str, _text)
