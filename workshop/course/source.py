"""Reads a lab's notebook as it is written: labs/<lab>/notebook.md, in the Markdown that jupytext reads.

A fence of ```python is a code cell, with metadata behind the language: ```python tags=["exercise"]. Text between is a
Markdown cell. Two blank lines separate two Markdown cells. In an exercise's cell the solution stands between two marks.

jupytext ignores mistakes and doesn't tell where a cell begins. So this module finds the cells again in the text. A
block that never ends, or metadata that isn't JSON, becomes a problem with its line.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from workshop.core.errors import BadInput
from workshop.course.exercise_checks import PLACEHOLDER

FILE = "notebook.md"
FURTHER = "further"  # the folder of a lab's notebooks without exercises

_OPTIONS = re.compile(r"`{3,}\s*python\b(.*)")
_TAGS = re.compile(r"\btags=(\[.*?\])?")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})\s*([^\s`]*).*")
_PYTHON = re.compile(r"`{3,}\s*python\b.*")
_OURS = "lines_to_next_cell"  # what jupytext keeps for writing the text again
EXERCISE = "exercise"  # the tag of a cell that learners complete
BEGIN, END = "# BEGIN SOLUTION", "# END SOLUTION"
PYTHON_MAGICS = ("ranks", "px", "time", "timeit", "capture")  # below these is Python
_LINE_MAGIC = re.compile(r"\s*(%{1,2}[A-Za-z]\w*|![A-Za-z./])")


@dataclass(frozen=True)
class SourceCell:
    """A cell of a notebook. `line` is where its text begins in the file, from 1."""

    kind: Literal["markdown", "code"]
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    line: int = field(default=1, compare=False)

    @property
    def is_exercise(self) -> bool:
        return EXERCISE in self.metadata.get("tags", [])

    @property
    def solved(self) -> str:
        """The text with its solution and without marks, as instructors get it."""
        return "\n".join(line for line in self.text.split("\n") if line.strip() not in (BEGIN, END))

    @property
    def unsolved(self) -> str:
        """The text as learners get it: the placeholder where a solution is."""
        lines: list[str] = []
        inside = False
        for line in self.text.split("\n"):
            if line.strip() == BEGIN:
                inside = True
                lines.append(line.replace(BEGIN, PLACEHOLDER))
            elif line.strip() == END:
                inside = False
            elif not inside:
                lines.append(line)
        return "\n".join(lines)


@dataclass(frozen=True)
class SourceProblem:
    """Something wrong in a source: its line, and a sentence without a full stop."""

    line: int | None
    text: str


class BadSource(BadInput):
    """A source that can't be used. Its text has a line for each problem."""

    def __init__(self, name: str, problems: Sequence[SourceProblem]) -> None:
        ordered = sorted(dict.fromkeys(problems), key=lambda problem: problem.line or 0)
        super().__init__("\n".join(worded(name, problem) for problem in ordered))
        self.problems = tuple(ordered)


def further(folder: Path) -> list[Path]:
    """The sources of a lab's further notebooks."""
    return sorted((folder / FURTHER).glob("*.md"))


def worded(name: str, problem: SourceProblem) -> str:
    """The problem with its file and line."""
    return f"{name}{f', line {problem.line}' if problem.line is not None else ''}: {problem.text}"


def text_of(path: Path) -> str:
    """The text of a source's file. Raises BadInput."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path} can't be read ({error.strerror}).") from None
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is no text: byte {error.start} is none of UTF-8.") from None


def read(path: Path) -> tuple[SourceCell, ...]:
    """The cells of a file. Raises BadSource with every problem."""
    return parse(text_of(path), str(path))


def parse(text: str, name: str = FILE) -> tuple[SourceCell, ...]:
    """The cells of a source's text; `name` is what its file is called. Raises BadSource with every problem."""
    cells, problems = look(text)
    if problems:
        raise BadSource(name, problems)
    return cells


def look(text: str) -> tuple[tuple[SourceCell, ...], list[SourceProblem]]:
    """The cells that there are, and everything that is wrong with them."""
    import jupytext  # takes a second, which what only describes labs need not wait for

    lines = text.split("\n")
    problems = list(_tags(lines))
    if problems:  # jupytext refuses them without saying where
        return (), problems
    try:
        notebook_cells = jupytext.reads(text, fmt="md").cells
    except Exception as error:  # of its header's YAML, and whatever else it meets
        first = str(error).strip().partition("\n")[0]
        return (), [SourceProblem(1, f"jupytext can't read it: {first or type(error).__name__}")]
    cells = []
    at = 0
    for notebook_cell in notebook_cells:
        metadata = {key: value for key, value in notebook_cell.metadata.items() if key != _OURS}
        begin, at = _place(lines, at, notebook_cell)
        cell = SourceCell(
            "code" if notebook_cell.cell_type == "code" else "markdown", notebook_cell.source, metadata, begin + 1
        )
        cells.append(cell)
        problems += _metadata(cell)
        if notebook_cell.cell_type == "code":
            problems += _code(lines, cell)
            problems += _solution(cell)
        elif notebook_cell.cell_type == "markdown":
            problems += _markdown(cell)
        else:
            problems.append(
                SourceProblem(cell.line, "a cell is neither text nor Python; write ```python or plain text")
            )
    return tuple(cells), problems


def _place(lines: Sequence[str], at: int, cell: Any) -> tuple[int, int]:
    """Where a cell's text begins, and where it has ended, as indices of lines. The search begins at line `at`."""
    cell_lines = cell.source.split("\n")
    for text in (cell_lines, cell_lines[1:]):  # the first line may be a magic that jupytext made of another language
        for begin in range(at, len(lines) - len(text) + 1):
            below_fence = begin > 0 and lines[begin - 1].startswith("```")
            if lines[begin : begin + len(text)] == text and (cell.cell_type != "code" or below_fence):
                return begin, begin + len(text)
    return at, at


def _tags(lines: Sequence[str]) -> Iterator[SourceProblem]:
    """Tags that are no list of words."""
    for number, line in enumerate(lines, 1):
        if (options := _OPTIONS.fullmatch(line)) and (tags := _TAGS.search(options[1])):
            try:
                tag_list = json.loads(tags[1] or "null")
            except ValueError:
                tag_list = None
            if not isinstance(tag_list, list) or not all(isinstance(tag, str) and tag for tag in tag_list):
                yield SourceProblem(number, 'tags should be a list of words, like tags=["exercise"]')


def _metadata(cell: SourceCell) -> Iterator[SourceProblem]:
    """The words behind the language where they aren't like tags=["exercise"]."""
    for key, value in cell.metadata.items():
        if value is None or key in ("incorrectly_encoded_metadata", "title", "region_name"):
            word = key if value is None else str(value)
            yield SourceProblem(cell.line - 1, f'metadata {word[:40]!r} should be like tags=["exercise"]')


def _code(lines: Sequence[str], cell: SourceCell) -> Iterator[SourceProblem]:
    """Fences of a code cell that are of another language, or missing."""
    fence = lines[cell.line - 2] if cell.line > 1 else ""
    behind = cell.line - 1 + len(cell.text.split("\n"))
    if not _PYTHON.fullmatch(fence):
        language = fence.lstrip("` ").split(maxsplit=1)[:1]
        sentence = (
            f"a block of {''.join(language)[:40]!r} would be a cell of another language; write ```python or ```text"
        )
        yield SourceProblem(max(cell.line - 1, 1), sentence)
    elif not "".join(lines[behind : behind + 1]).startswith("```"):
        yield SourceProblem(cell.line - 1, "the block that begins here is never closed; it ends with ```")


def _markdown(cell: SourceCell) -> Iterator[SourceProblem]:
    """Blocks that don't end or would be taken for Python."""
    block: tuple[int, str] | None = None
    for number, line in enumerate(cell.text.split("\n"), cell.line):
        fence = _FENCE.fullmatch(line)
        if fence and block is None:
            block = number, fence[1]
            if fence[2] not in ("", "text"):
                sentence = f"a block of {fence[2][:40]!r} is shown and not run; write ```python or ```text"
                yield SourceProblem(number, sentence)
        elif fence and block is not None and line.strip().startswith(block[1]) and not fence[2]:
            block = None
    if block is not None:
        yield SourceProblem(block[0], f"the block that begins here is never closed; it ends with {block[1]}")


def _solution(cell: SourceCell) -> Iterator[SourceProblem]:
    """The faults of a code cell: wrong marks, or invalid Python with or without the solution."""
    lines = cell.text.split("\n")
    marks = list(_marks(lines, cell.line))
    yield from marks
    if not any(line.strip() == BEGIN for line in lines):
        if cell.is_exercise and not marks:
            yield SourceProblem(cell.line, f"an exercise's cell has its solution between lines {BEGIN!r} and {END!r}")
    elif not cell.is_exercise:
        sentence = f'a cell with a solution is an exercise: write ```python tags=["{EXERCISE}"]'
        yield SourceProblem(cell.line, sentence)
    if not cell.text.strip():
        yield SourceProblem(cell.line, "a code cell is empty; take it away")
    if marks:
        return
    numbers = [number for number, line in enumerate(lines) if line.strip() not in (BEGIN, END)]
    if wrong := _syntax(cell.solved):
        where = numbers[wrong[0] - 1] if 0 < wrong[0] <= len(numbers) else 0
        yield SourceProblem(cell.line + where, f"the cell is no Python: {wrong[1]}")
    elif cell.is_exercise and (wrong := _syntax(cell.unsolved)):
        yield SourceProblem(cell.line, f"without its solution the cell is no Python: {wrong[1]}")


def _marks(lines: Sequence[str], first: int) -> Iterator[SourceProblem]:
    """Marks that don't come in pairs."""
    begun: int | None = None
    for number, line in enumerate(lines, first):
        if line.strip() == BEGIN:
            if begun is not None:
                yield SourceProblem(number, f"a solution begins within the one that began in line {begun}")
            begun = number
        elif line.strip() == END:
            if begun is None:
                yield SourceProblem(number, "a solution ends here that has not begun")
            begun = None
    if begun is not None:
        yield SourceProblem(begun, f"the solution never ends; write {END!r} below it")


def _python(text: str) -> list[str]:
    """The lines of a cell with what only IPython understands taken out, each in its place."""
    lines = text.split("\n")
    if lines[0].startswith("%%"):
        if lines[0][2:].split(maxsplit=1)[:1] not in [[name] for name in PYTHON_MAGICS]:
            return [""] * len(lines)
        lines[0] = ""
    return [re.sub(r"\S.*", "pass", line) if _LINE_MAGIC.match(line) else line for line in lines]


def _syntax(text: str) -> tuple[int, str] | None:
    """The line and the message of a syntax error in a cell."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST
    try:
        with warnings.catch_warnings(action="ignore"):
            compile("\n".join(_python(text)), "cell", "exec", flags)
    except SyntaxError as error:
        return error.lineno or 1, error.msg
    return None
