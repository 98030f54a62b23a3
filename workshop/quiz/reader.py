"""Reads decks from YAML files. For a bad deck it reports all problems at once, each with file, line and advice."""

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
from workshop.quiz import content_errors, rendering
from workshop.quiz.deck import Deck
from workshop.quiz.form_errors import DeckMistake, Where, mistakes, nearest
from workshop.quiz.schema import schema
from workshop.quiz.types import Question
from workshop.quiz.validation import look
from workshop.registry import decks, labs

__all__ = ["BadDeck", "DeckProblem", "dump", "find", "parse", "read", "schema", "shipped"]

LARGEST = 1024 * 1024  # bytes
DEEPEST = 12  # levels
MOST = 200  # problems in a report
FILE = "quiz.yaml"  # a lab's deck


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
        guess = nearest(name, paths).removeprefix("; did")
        raise BadInput(f"There is no deck {name[:60]!r}; {available}, and any file.{f' Did{guess}' if guess else ''}")
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
            yield DeckMistake(("short", place), f"{str(id)[:60]!r} is the id of no question{nearest(str(id), ids)}")
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
