"""Reads decks from YAML files: an error names the first mistake of each question, with file, line and advice. A deck of
a lab is read again only when its file has changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from workshop.core import words, yaml_files
from workshop.core.errors import BadInput, WorkshopError
from workshop.extension import Lab
from workshop.quiz import expressions, pictures, rendering, types
from workshop.quiz.deck import Deck
from workshop.quiz.form_errors import Mistake, hint, mistakes, named
from workshop.quiz.parts import combinations, texts
from workshop.quiz.types import Question
from workshop.registry import decks, labs

LARGEST_DECK = 1024 * 1024  # bytes
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
        lines = []
        for problem in problems:
            line = f", line {problem.line}" if problem.line is not None else ""
            lines.append(f"{name}{line}: {f'{problem.where}: ' if problem.where else ''}{problem.text}")
        super().__init__("\n".join(lines))
        self.problems = problems


def shipped() -> dict[str, Path]:
    """All decks of extensions, by the names of their folders; decks of labs in the order of the labs."""
    order = {lab.folder: lab.order for lab in labs()}

    def place(path: Path) -> tuple[int, str]:
        return order.get(path.parent, Lab.order), path.parent.name

    by_name: dict[str, Path] = {}
    for collection in decks():
        for path in sorted(collection.folder.glob(f"*/{FILE}"), key=place):
            by_name.setdefault(path.parent.name, path)
    return by_name


def find(name: str) -> Path:
    """The file of a deck, from the name of a lab or a path. Raises BadInput."""
    paths = shipped()
    if name in paths:
        return paths[name]
    path = Path(name)
    if not path.suffix and not path.is_file():
        available = f"there are {words.listed(paths)}" if paths else "there are none here"
        raise BadInput(f"There is no deck {name[:60]!r}; {available}, and any file{hint(name, paths) or '.'}")
    return path


def read(path: Path, thorough: bool = False) -> Deck:
    """Read a deck from a file; `thorough` also asks the mapper about placements, which is slow. Raises BadDeck."""
    path = Path(path)
    try:
        text = yaml_files.read_text(path, LARGEST_DECK, "a deck")
    except BadInput as error:
        reason = str(error).removeprefix(f"{path} ").rstrip(".")
        raise BadDeck(str(path), (DeckProblem(None, "", f"the file {reason}"),)) from None
    return parse(text, str(path), path.parent, thorough)


def parse(text: str, name: str, folder: Path | None = None, thorough: bool = False) -> Deck:
    """Read a deck from the text of a file; its pictures are in `folder`. Raises BadDeck."""
    try:
        node, loader = yaml_files.compose(text)
        document = yaml_files.document(node, loader)
    except yaml_files.Unreadable as error:
        raise BadDeck(name, (DeckProblem(error.line, "", f"the file {error}".rstrip(".")),)) from None
    if node is None or not isinstance(document, dict):
        expected = "the file holds no deck; it should have lines like `deck: ring`, `title: ...` and `questions: ...`"
        raise BadDeck(name, (DeckProblem(None, "", expected),))
    problems = [DeckProblem(line, "", text.rstrip(".")) for line, text in yaml_files.bad_keys(node)]
    problems += _problems(node, document, _mistakes(node, document, folder, thorough))
    if not problems:
        try:
            return Deck.model_validate(document)
        except ValidationError as error:  # ids
            problems = _problems(node, document, mistakes(error, Deck, document))
    raise BadDeck(name, tuple(sorted(dict.fromkeys(problems), key=lambda problem: problem.line or 0)))


def _mistakes(node: yaml.Node, document: Mapping[str, Any], folder: Path | None, thorough: bool) -> Iterator[Mistake]:
    """The mistakes outside of the questions, and the first mistake of each question."""
    yield from _heading(document)
    questions = document.get("questions")
    for place, raw in enumerate(questions if isinstance(questions, list) else []):
        of_question = [(("questions", place, *path), text) for path, text in _question_mistakes(raw, folder, thorough)]
        yield from sorted(of_question, key=lambda mistake: yaml_files.line_of(node, mistake[0]))[:1]


def _question_mistakes(raw: Any, folder: Path | None, thorough: bool) -> list[Mistake]:
    """Mistakes of a question: those of its form; where there is none, the first one of its content."""
    if not isinstance(raw, Mapping):
        return [((), f"{str(raw)[:60]!r} is no question; it should have id, type and text")]
    classes, name = types.CLASSES, raw.get("type")
    kind = classes.get(name) if isinstance(name, str) else None
    if kind is None:
        was = "missing" if name is None else repr(str(name)[:60])
        text = f"type is {was}; it should be one of {words.listed(classes)}{hint(str(name), classes)}"
        return [(("type",), text)]
    try:
        question = kind.model_validate(raw)
    except ValidationError as error:
        return mistakes(error, kind, raw)
    # Those behind the first may follow from it.
    of_content = list(islice(chain(_texts(question), _picture(question, folder), question.problems()), 1))
    if thorough and not of_content:
        try:
            return list(islice(question.slow_problems(), 1))
        except WorkshopError as error:
            return [(("right",), str(error))]
    return of_content


def _texts(question: Question) -> Iterator[Mistake]:
    """Report unreadable formulas, names without a number, and numbers that no text uses."""
    numbers = next(combinations(question.numbers), {})
    used: set[str] = set()
    for path, text in texts(question):
        if text and not text.strip():
            yield path, f"{named(path)} is empty; it should say something"
        names = rendering.names(text)
        used |= names | rendering.names_in_formulas(text)
        for name in sorted(names - question.numbers.keys()):
            usable = [number for number in question.numbers if number not in expressions.FUNCTIONS]
            available = f"they are {words.listed(usable)}" if usable else "it has none"
            advice = f"{available}, and code goes between backticks{hint(name, usable)}"
            yield path, f"{{{name}}} is none of this question's numbers; {advice}"
        yield from ((path, problem) for problem in rendering.problems(text, numbers))
    for name in sorted(question.numbers.keys() - used):
        yield ("numbers", name), f"no text uses {name}; write it as {{{name}}}, or remove it"


def _picture(question: Question, folder: Path | None) -> Iterator[Mistake]:
    if question.picture is not None:
        try:
            pictures.load(folder, question.picture)
        except BadInput as error:
            yield ("picture", "file"), str(error).rstrip(".")


def _heading(document: Mapping[str, Any]) -> Iterator[Mistake]:
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
        yield from ((("about",), problem) for problem in rendering.problems(about))
        for name in sorted(rendering.names(about)):
            yield ("about",), f"{{{name}}} is no number; only questions have some, and code is in backticks"


def _problems(node: yaml.Node, document: Mapping[str, Any], deck_mistakes: Iterable[Mistake]) -> list[DeckProblem]:
    """Mistakes with their lines and questions."""
    problems = []
    for path, text in deck_mistakes:
        where = ""
        if len(path) > 1 and path[0] == "questions":
            raw = document["questions"][path[1]]
            name = raw.get("id") if isinstance(raw, Mapping) else None
            where = f"question {name[:60] if isinstance(name, str) and name else int(path[1]) + 1}"
        problems.append(DeckProblem(yaml_files.line_of(node, path), where, text.rstrip(".")))
    return problems


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


def lab_decks() -> dict[str, Deck | BadDeck]:
    """All decks by name, in the order of the course; an unreadable deck is represented by its error."""
    by_name: dict[str, Deck | BadDeck] = {}
    for name, path in shipped().items():
        try:
            by_name[name] = read_cached(path)
        except BadDeck as error:
            by_name[name] = error
    return by_name


LAB = ":lab"  # behind a deck's name: only the questions that its lab asks


def deck(name: str) -> tuple[Deck, Path]:
    """The deck of that name and the folder of its pictures; `NAME:lab` is the deck with the questions that the lab
    asks. Raises BadInput for an unknown or unreadable deck."""
    if name.endswith(LAB):
        full_deck, folder = deck(name.removesuffix(LAB))
        return full_deck.brief(), folder
    paths = shipped()
    if name not in paths:
        raise BadInput(f"There is no quiz {name!r:.60}; there are {', '.join(paths)}.")
    return read_cached(paths[name]), paths[name].parent


def read_cached(path: Path) -> Deck:
    """The deck in a file, from the cache if the file is unchanged. Raises BadInput."""
    try:
        now = path.stat()
    except OSError as error:
        raise BadInput(f"{path} can't be read ({error.strerror}).") from None
    return _read(path, now.st_mtime_ns, now.st_size)


@lru_cache(64)
def _read(path: Path, _changed: int, _size: int) -> Deck:
    return read(path)
