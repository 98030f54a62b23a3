"""Solutions of exercises: they stand between two marks in their cell, and learners get a placeholder instead."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from workshop.course.exercise_checks import PLACEHOLDER

CellFault = tuple[int, str]  # a line and what is wrong there

EXERCISE = "exercise"  # the tag of a cell that learners complete
BEGIN, END = "# BEGIN SOLUTION", "# END SOLUTION"
PYTHON_MAGICS = ("ranks", "px", "time", "timeit", "capture")  # below these is Python

_MARK = re.compile(r"#+\s*(begin|end)[\s_-]*solution\b.*", re.IGNORECASE)
_LINE_MAGIC = re.compile(r"\s*(%{1,2}[A-Za-z]\w*|![A-Za-z./])")


def solved(text: str) -> str:
    """A code cell's text with its solution, without marks."""
    return "\n".join(line for line in text.split("\n") if line.strip() not in (BEGIN, END))


def unsolved(text: str) -> str:
    """A code cell's text as learners get it: the placeholder where a solution is."""
    lines: list[str] = []
    inside = False
    for line in text.split("\n"):
        if line.strip() == BEGIN:
            inside = True
            lines.append(line.replace(BEGIN, PLACEHOLDER))
        elif line.strip() == END:
            inside = False
        elif not inside:
            lines.append(line)
    return "\n".join(lines)


def problems(text: str, first: int, is_exercise: bool) -> Iterator[CellFault]:
    """The faults of a code cell: wrong marks, or invalid Python with or without the solution."""
    marks = list(_marks(text, first))
    yield from marks
    if not any(line.strip() == BEGIN for line in text.split("\n")):
        if is_exercise and not marks:
            sentence = f"an exercise's cell has its solution between lines {BEGIN!r} and {END!r}"
            yield first, sentence
    elif not is_exercise:
        yield first, f'a cell with a solution is an exercise: write ```python tags=["{EXERCISE}"]'
    if not text.strip():
        yield first, "a code cell is empty; take it away"
    if any(line.startswith("%%") for line in text.split("\n")[1:] if not text.startswith("%%")):
        yield first, "a magic of the whole cell stands in its first line"
    if marks:
        return
    line_numbers = [number for number, line in enumerate(_python(text)) if line.strip() not in (BEGIN, END)]
    wrong = _syntax(solved(text))
    if wrong is not None:
        where = line_numbers[wrong[0] - 1] if 0 < wrong[0] <= len(line_numbers) else 0
        yield first + where, f"the cell is no Python: {wrong[1]}"
    elif is_exercise and (wrong := _syntax(unsolved(text))) is not None:
        yield first, f"without its solution the cell is no Python: {wrong[1]}"


def _marks(text: str, first: int) -> Iterator[CellFault]:
    """Marks that are misspelt or don't come in pairs."""
    begun: tuple[int, str] | None = None
    inside = 0
    for number, line in enumerate(text.split("\n"), first):
        mark = line.strip()
        if mark not in (BEGIN, END):
            if _MARK.fullmatch(mark):
                yield number, f"{mark[:40]!r} should be {BEGIN!r} or {END!r}, on a line of its own"
            elif BEGIN in line or END in line:
                yield number, f"{BEGIN!r} and {END!r} stand on lines of their own"
            inside += bool(mark)
            continue
        indent = line[: len(line) - len(line.lstrip())]
        if mark == BEGIN:
            if begun is not None:
                yield number, f"a solution begins within the one that began in line {begun[0]}"
            begun, inside = (number, indent), 0
        elif begun is None:
            yield number, "a solution ends here that has not begun"
        else:
            if indent != begun[1]:
                yield number, f"the mark should be indented like that in line {begun[0]}"
            if not inside:
                yield number, "the solution is empty"
            begun = None
    if begun is not None:
        yield begun[0], f"the solution never ends; write {END!r} below it"


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
    except (ValueError, RecursionError, MemoryError) as error:  # a NUL, or brackets without an end
        return 1, str(error) or type(error).__name__
    return None
