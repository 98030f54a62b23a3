"""What the course has for readers in a browser: a lab with its parts, predictions and runs, which somebody without a
notebook can start there; a lab's run sheet, which is what its instructor shows and says, minute by minute; the
glossary of the terms that labs explain below their heading "Words"; and the dictionary, which has each step of a
data-parallel training in several frameworks, and their commands.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from workshop.core import config, words
from workshop.core.errors import BadInput
from workshop.course import catalogue, source
from workshop.course.description import CoursePart
from workshop.course.source import SourceCell

_HEADING = re.compile(r"^## +(.*?) *$", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((labs/[^)\s]+)\)")
_DRAWING = re.compile(r"^!\[([^\]]*)\]\((labs/[^)\s]+)\) *$", re.MULTILINE)
Names = Mapping[str, Any]  # variables of the notebook that hold plain values


@dataclass(frozen=True)
class LabRun:
    """A run of a lab: `settings` are params of the workload and fields of the placement."""

    workload: str
    settings: Mapping[str, Any]

    @property
    def words(self) -> str:
        """The settings on one line."""
        return ", ".join(_setting(name, value) for name, value in self.settings.items())


def _setting(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {item}" for key, item in value.items())
    if isinstance(value, bool):
        return f"{name.replace('_', ' ')} {'on' if value else 'off'}"
    if name in ("ranks", "threads"):
        return words.count(value, name.removesuffix("s"))
    return f"{name.replace('_', ' ')} {value}"


@dataclass(frozen=True)
class LabCell:
    """A cell: a text, a drawing, or code with the predictions that it asks for and the runs that it starts."""

    text: str  # of a drawing: its description
    drawing: str = ""  # the file as a path `labs/LAB/FILE`
    is_code: bool = False
    is_exercise: bool = False
    predictions: tuple[str, ...] = ()
    runs: tuple[LabRun, ...] = ()
    quiz: bool = False  # whether the code shows the lab's quiz


@dataclass(frozen=True)
class LabSection:
    """The cells below a heading, and the files to which they link, as paths `labs/LAB/FILE`."""

    title: str
    cells: tuple[LabCell, ...]
    links: tuple[str, ...] = ()

    @property
    def predictions(self) -> tuple[str, ...]:
        return tuple(name for cell in self.cells for name in cell.predictions)


def source_of(folder: Path, name: str = "") -> Path:
    """The source of a lab's notebook, or of its further notebook of this name."""
    return folder / source.FURTHER / f"{name}.md" if name else folder / source.FILE


def further_titles(folder: Path) -> dict[str, str]:
    """The titles of a lab's further notebooks by their names. Raises BadInput where one can't be read."""
    return {path.stem: source.text_of(path).partition("\n")[0].lstrip("# ") for path in source.further(folder)}


def read(folder: Path, name: str = "") -> tuple[LabSection, ...]:
    """Return the sections of a lab, or of its further notebook of this name, titles numbered. Raises BadInput."""
    sections: list[tuple[str, list[LabCell], list[str]]] = [(f"About this {'notebook' if name else 'lab'}", [], [])]
    names: dict[str, Any] = {}
    to_further = re.compile(rf"\]\(\d+-{re.escape(folder.name)}-([^)\s/]+)\.ipynb\)")
    for cell in source.read(source_of(folder, name)):
        if cell.kind == "code":
            sections[-1][1].append(_code(cell, names))
            continue
        pieces = _HEADING.split(cell.text)  # text, then a heading and its text, again and again
        for heading, text in zip(["", *pieces[1::2]], pieces[::2], strict=True):
            if heading:
                sections.append((heading, [], []))
            _, cells, links = sections[-1]
            links += [link for _, link in _LINK.findall(text)]
            prose = _LINK.sub(r"**\1**", re.sub(r"^# .*", "", text))
            prose = to_further.sub(rf"](labs?lab={folder.name}&further=\1)", prose)
            parts = _DRAWING.split(prose)  # text, then description, file and text, again and again
            for words_before, description, drawing in zip(
                parts[::3], [*parts[1::3], ""], [*parts[2::3], ""], strict=True
            ):
                if words_before.strip():
                    cells.append(LabCell(words_before.strip()))
                if drawing:
                    cells.append(LabCell(description, drawing))
    return tuple(
        LabSection(f"{number}. {title}", tuple(cells), tuple(dict.fromkeys(links)))
        for number, (title, cells, links) in enumerate(sections, 1)
    )


def _code(cell: SourceCell, names: dict[str, Any]) -> LabCell:
    """A cell of code; its plain variables are added to `names`. Code with magics, which is no Python, is only shown."""
    try:
        tree = ast.parse(cell.unsolved)
    except SyntaxError:
        return LabCell(cell.unsolved, "", is_code=True, is_exercise=cell.is_exercise)
    predictions, runs, quiz = [], [], False
    for call, call_names in _calls(tree, names):
        match ast.unparse(call.func):
            case "lab.predict" if call.args and isinstance(call.args[0], ast.Constant):
                predictions.append(str(call.args[0].value))
            case "session.run":
                try:
                    runs.append(_run(call, call_names))
                except LookupError:
                    continue  # its settings are known only when the notebook runs
            case "session.quiz":
                quiz = True
    unique_runs = tuple(run for place, run in enumerate(runs) if run not in runs[:place])
    return LabCell(cell.unsolved, "", True, cell.is_exercise, tuple(predictions), unique_runs, quiz)


def _calls(node: ast.AST, names: dict[str, Any]) -> Iterator[tuple[ast.Call, Names]]:
    """All calls within a node, in their order, each with the plain variables that are known there. A loop over plain
    values repeats its calls for each of them."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield from _calls(value, names)
            try:
                names[name] = _value(value, names)
            except LookupError:
                names.pop(name, None)
        case ast.For(target=ast.Name(id=name), iter=values, body=body):
            for item in _items(values, names):
                inner = {**names, **item(name)}
                for statement in body:
                    yield from _calls(statement, inner)
        case ast.DictComp(generators=[ast.comprehension(target=ast.Name(id=name), iter=values)], value=value):
            for item in _items(values, names):
                yield from _calls(value, {**names, **item(name)})
        case _:
            if isinstance(node, ast.Call):
                yield node, names
            for child in ast.iter_child_nodes(node):
                yield from _calls(child, names)


def _items(values: ast.expr, names: Names) -> list[Any]:
    """For each value of a loop, a function that gives the loop's variable this value; where the values are not plain,
    one function that gives it none."""
    try:
        return [lambda name, value=value: {name: value} for value in _value(values, names)]
    except (LookupError, TypeError):
        return [lambda name: {}]


def _run(call: ast.Call, names: Names) -> LabRun:
    """The run that a call starts. Raises LookupError where its settings are not plain values."""
    settings: dict[str, Any] = {}
    for keyword in call.keywords:
        value = _value(keyword.value, names)
        settings |= value if keyword.arg is None else {keyword.arg: value}
    return LabRun(str(_value(call.args[0], names)), settings)


def _value(node: ast.expr, names: Names) -> Any:
    """The value of an expression of literals and known variables. Raises LookupError for any other expression."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return names[name]
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item, names) for item in items]
        case ast.Dict(keys=keys, values=values):
            merged: dict[Any, Any] = {}
            for key, value in zip(keys, values, strict=True):
                merged |= _value(value, names) if key is None else {_value(key, names): _value(value, names)}
            return merged
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case _:
            raise LookupError(ast.unparse(node))


FILE = "runsheet.md"
COLUMNS = ("from", "min", "part", "step", "show", "say")
_QUIZ = re.compile(r"workshop quiz host (\S+?)`")
_EXERCISE = re.compile(r"\bExercises? ([0-9]+)")


@dataclass(frozen=True)
class RunSheetStep:
    """A row of the run sheet. `start` is in minutes after the lab's beginning; `part` counts its sections from 1."""

    start: int
    minutes: int
    part: int
    title: str
    show: str  # Markdown, as is `say`
    say: str

    @property
    def deck(self) -> str:
        """The deck of the quiz that is hosted; "" where it is none."""
        match = _QUIZ.search(self.show)
        return match[1] if match else ""

    @property
    def exercise(self) -> int | None:
        """The number of the step's exercise, from 1."""
        match = _EXERCISE.match(self.title)
        return int(match[1]) if match else None


def read_run_sheet(folder: Path) -> tuple[RunSheetStep, ...]:
    """The steps of the run sheet of a lab's folder. Raises BadInput with the line that can't be read."""
    path, steps = folder / FILE, []
    inside = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if inside and not line.startswith("|"):
            break
        if tuple(cells) == COLUMNS:
            inside = True
        elif inside and not cells[0].startswith("---"):
            try:
                start, minutes, part, title, show, say = cells
                steps.append(RunSheetStep(int(start), int(minutes), int(part), title, show, say))
            except ValueError:
                raise BadInput(f"{path}, line {number}: a row has the cells {' | '.join(COLUMNS)}.") from None
    if not steps:
        raise BadInput(f"{path} has no table with the columns {' | '.join(COLUMNS)}.")
    return tuple(steps)


SECTION = "Words"
_WORDS = re.compile(rf"^## +{SECTION} *\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"^- +((?:.+\n?)(?: +.+\n?)*)", re.MULTILINE)
_TERM = re.compile(r"\*\*([^*]+)\*\*")
DICTIONARY = "dictionary.yaml"


@dataclass(frozen=True)
class Term:
    """A term of the field: its name, the sentences that explain it as Markdown, and the lab that does."""

    name: str
    text: str
    lab: str


def read_terms() -> list[Term]:
    """The terms of all labs in the order of the alphabet. The first lab that explains a term counts."""
    by_name: dict[str, Term] = {}
    for folder, _ in catalogue.readable():
        for term in terms(folder):
            by_name.setdefault(term.name.casefold(), term)
    return [by_name[name] for name in sorted(by_name)]


def terms(folder: Path) -> Iterator[Term]:
    """The terms that a lab explains. An item of the list explains each term that it shows in bold."""
    with suppress(BadInput):
        for cell in source.read(folder / source.FILE):
            for section in _WORDS.findall(cell.text) if cell.kind == "markdown" else ():
                for item in _ITEM.findall(section):
                    text = " ".join(item.split())
                    for name in dict.fromkeys(_TERM.findall(text)):
                        yield Term(name[0].upper() + name[1:], text, folder.name)


class DictionaryEntry(CoursePart):
    """The code of a step in a framework, and what one has to know of it."""

    code: str = ""
    note: str = ""


class RecipeStep(CoursePart):
    """A step of the training, with an entry for each framework."""

    title: str
    why: str
    entries: Mapping[str, DictionaryEntry]


class LaunchCommand(CoursePart):
    """The command of a launcher."""

    title: str
    line: str
    note: str = ""


class LaunchExample(CoursePart):
    """Commands that start the same ranks, which `ranks` describes."""

    ranks: str
    commands: tuple[LaunchCommand, ...] = Field(strict=False)  # YAML has lists


class Dictionary(CoursePart):
    """The titles of frameworks by name, the steps in their order, and the commands."""

    frameworks: Mapping[str, str]
    steps: tuple[RecipeStep, ...] = Field(min_length=1, strict=False)
    launch: LaunchExample


def read_dictionary() -> Dictionary:
    """Read the dictionary. Raises BadInput where its file can't be read, or where a step lacks a framework."""
    path = config.labs_folder() / DICTIONARY
    dictionary = catalogue.course_file(path, "the dictionary", Dictionary)
    for step in dictionary.steps:
        if set(step.entries) != set(dictionary.frameworks):
            raise BadInput(f"{path}: the step {step.title!r} should have an entry for each framework.")
    return dictionary
