"""Checks of exercises: an answer is right, or gets one sentence that says what is wrong.

A lab's checks.py has a function for each exercise, marked by `@exercise("its_name")`, which calls the learner's answer
with data whose result it knows. It returns when all is right and raises `Hint` otherwise. An exception or an endless
loop in the learner's code also becomes a sentence, with the line of the cell.

`limit` is a time limit for Python code that somebody else wrote.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import linecache
import os
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from workshop.core.errors import BadInput

CHECK_SECONDS = 15.0  # that a check may take
LONGEST_MESSAGE = 300  # characters of what a learner's exception says
LINE = 70  # characters of a line of code that is shown
PLACEHOLDER = "...  # your code"  # what stands in an exercise where its solution was
HINTED, SOLVED = 2, 4  # checks in a row that weren't right, after which there is a hint, and the solution
CELL = "<your cell>"  # the file's name of code that comes from no notebook
CHECKS, MISTAKES = "checks.py", "mistakes.py"  # of a lab

Kind = Literal["right", "hint", "empty", "error", "late"]


class Hint(Exception):
    """A mistake in one sentence: the fault, and where to look."""


class Elsewhere(Exception):
    """Another rank has found a fault; `told` is the kind and the sentence of every rank."""

    def __init__(self, outcomes: Sequence[tuple[Kind, str]]) -> None:
        self.told = outcomes


@dataclass(frozen=True)
class Exercise:
    """A check. `id` is the name that the answer has in the notebook. With `ranks` it runs on every rank as
    `check(comm, given)`, otherwise as `check(given)`. `hint` leads to the solution after some checks that weren't
    right, and `reason` explains the solution."""

    id: str
    check: Callable[..., None]
    ranks: bool = False
    hint: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Mistake:
    """A typical wrong answer: code in place of the exercise's cell, and a piece of the hint that it has to get."""

    name: str
    code: str
    hint: str


@dataclass(frozen=True)
class CheckOutcome:
    """The result of a check; `sentence` is empty where the answer is right."""

    kind: Kind
    sentence: str = ""

    @property
    def right(self) -> bool:
        return self.kind == "right"


RIGHT = CheckOutcome("right")


MISSING = object()  # the value of a name that the notebook doesn't have


def exercise(
    id: str, *, ranks: bool = False, hint: str = "", reason: str = ""
) -> Callable[[Callable[..., None]], Exercise]:
    """Mark a function of checks.py as the check of an exercise. The module's own names are the registry: see `load`."""
    return lambda check: Exercise(id, check, ranks, hint, reason)


def load(folder: Path, text: str | None = None) -> Mapping[str, Exercise]:
    """The checks of a lab by the exercises' ids, in the order of its checks.py; `text` is what that file says, for
    where the folder isn't. Raises BadInput."""
    path = folder / CHECKS
    exercises: dict[str, Exercise] = {}
    for name, value in (_names(path) if text is None else _run(path, text)).items():
        if isinstance(value, Exercise):
            if value.id in exercises:
                raise BadInput(f"{path} has two checks for the exercise {value.id!r}; the second is {name}.")
            exercises[value.id] = value
    if not exercises:
        raise BadInput(f'{path} has no checks; each is a function below a line like @exercise("shard").')
    return exercises


def mistakes(folder: Path) -> Mapping[str, Sequence[Mistake]]:
    """Typical wrong answers of a lab by the exercises' ids. Raises BadInput."""
    path = folder / MISTAKES
    by_id = _names(path).get("MISTAKES")
    if not isinstance(by_id, dict) or not all(isinstance(of_exercise, list | tuple) for of_exercise in by_id.values()):
        raise BadInput(f"{path} has no MISTAKES; it should be a dict from exercises' ids to lists of Mistake.")
    return by_id


def _names(path: Path) -> dict[str, Any]:
    """The names that a file of a lab defines. The file runs each time, so that a changed file counts. Raises
    BadInput."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} can't be read ({getattr(error, 'strerror', None) or error}).") from None
    return _run(path, text)


def _run(path: Path, text: str) -> dict[str, Any]:
    """The names that a text defines as a file of this path. Raises BadInput."""
    names: dict[str, Any] = {"__name__": f"labs.{path.parent.name}.{path.stem}", "__file__": str(path)}
    try:
        exec(compile(text, str(path), "exec"), names)
    except Exception as error:
        line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else _line(error, str(path))
        where = f"{path}, line {line}" if line else str(path)
        raise BadInput(f"{where}: {_described(error)}.") from None
    return names


def run(exercise: Exercise, answer: Any, seconds: float = CHECK_SECONDS) -> CheckOutcome:
    """Check an answer in this process. A KeyboardInterrupt is passed on."""
    return _judged(exercise, answer, lambda: exercise.check(answer), seconds)


def run_on_ranks(
    exercise: Exercise,
    comm: Any,
    answer: Any,
    seconds: float = CHECK_SECONDS,
    tell: Callable[[CheckOutcome], None] | None = None,
) -> CheckOutcome:
    """Check an answer on this rank and agree with the others: the fault of the first rank that found one, with the
    rank's number where not all found it. Collective.

    The time limit can't interrupt code in a collective, so the caller needs a limit as well. `tell` is called with this
    rank's fault before the other ranks are asked, because they may wait for ever.
    """
    try:
        outcome = _judged(exercise, answer, lambda: exercise.check(comm, answer), seconds)
    except Elsewhere as other:
        everybody = other.told
    else:
        if tell is not None and not outcome.right:
            tell(outcome)
        everybody = comm.allgather((outcome.kind, outcome.sentence))
    wrong = [(rank, kind, sentence) for rank, (kind, sentence) in enumerate(everybody) if kind != "right"]
    if not wrong:
        return RIGHT
    rank, kind, sentence = wrong[0]
    unanimous = all(other == (kind, sentence) for other in everybody)
    return CheckOutcome(kind, sentence if unanimous or kind == "empty" else f"Rank {rank}: {sentence}")


def _judged(exercise: Exercise, answer: Any, check: Callable[[], None], seconds: float) -> CheckOutcome:
    if answer is MISSING:
        return CheckOutcome("empty", f"Nothing is there yet: run the cell that defines {exercise.id} first.")
    if answer is Ellipsis or answer is None:
        return CheckOutcome("empty", f"Nothing is there yet: give {exercise.id} a value in place of {PLACEHOLDER!r}.")
    try:
        # Many calls would fill the notebook with what an answer prints.
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), limit(seconds):
            check()
    except Elsewhere:
        raise
    except Hint as hint:
        sentence = str(hint)
        return CheckOutcome("empty" if sentence.startswith("Nothing is there yet") else "hint", sentence)
    except TooLong:
        sentence = f"Your {exercise.id} had not ended after {seconds:g} s: look for a loop that never ends."
        return CheckOutcome("late", sentence)
    except (Exception, SystemExit) as error:
        return _failed(exercise, answer, error)
    return RIGHT


def _failed(exercise: Exercise, answer: Any, error: BaseException) -> CheckOutcome:
    """A sentence for an exception out of the learner's code, or out of what a check did with their answer."""
    file = _file(answer)
    line = _line(error, file)
    waiting = _placeholder(answer, file)
    description = _described(error)
    if line is None and isinstance(error, TypeError) and callable(answer):
        text = f"Your {exercise.id} can't be called as the exercise asks, or gives something else back: {description}."
    elif line is None:
        text = f"What your {exercise.id} gives back can't be judged: {description}."
    else:
        code = linecache.getline(file, line).strip()
        quote = f" ({code if len(code) <= LINE else code[: LINE - 1] + '…'})" if code else ""
        text = f"Line {line} of your cell{quote} raised {description}."
    if waiting is not None:
        return CheckOutcome("empty", f"Nothing is there yet: {PLACEHOLDER!r} still stands in line {waiting}. {text}")
    return CheckOutcome("error", text)


def _described(error: BaseException) -> str:
    """An exception as Python names it, in one line."""
    if isinstance(error, SystemExit):
        return "SystemExit, which would end the notebook's kernel"
    if isinstance(error, RecursionError):
        return "RecursionError: it calls itself without an end"
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    text = " ".join(str(error).split())
    text = text.rstrip(".") if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _file(answer: Any) -> str:
    """The file's name of the cell in which an answer was defined; CELL where it can't be told."""
    inner = inspect.unwrap(answer)
    code = getattr(inner, "__code__", None) or getattr(getattr(inner, "__func__", None), "__code__", None)
    return getattr(code, "co_filename", CELL)


def _line(error: BaseException, file: str) -> int | None:
    """The last line of a file that an exception passed through."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return lines[-1] if lines else None


def _placeholder(answer: Any, file: str) -> int | None:
    """The line in which the placeholder still stands, in the function that was given."""
    code = getattr(answer, "__code__", None)
    if code is None:
        return None
    lines = linecache.getlines(file)
    last = max([line for _, _, line in code.co_lines() if line is not None], default=code.co_firstlineno)
    for number in range(code.co_firstlineno, min(last, len(lines)) + 1):
        if lines[number - 1].strip() == PLACEHOLDER:
            return number
    return None


def answer(code: str, id: str, names: Mapping[str, Any] | None = None, file: str = CELL) -> Any:
    """The object that a cell's code defines under an exercise's name, or MISSING: for wrong answers in tests.

    `names` are those that earlier cells have left. A cell magic in the first line is passed over.
    """
    code = code.lstrip("\n")
    if code.startswith("%%"):
        code = "\n" + code.partition("\n")[2]  # lines keep their numbers
    space = dict(names or {})
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    with open(os.devnull, "w") as null, contextlib.redirect_stdout(null), contextlib.redirect_stderr(null):
        exec(compile(code, file, "exec"), space)
    return space.get(id, MISSING)


def check_on_ranks(
    names: Mapping[str, Any], lab: str, text: str, id: str, seconds: float, folder: str
) -> tuple[str, str]:
    """Check the cells' answer to an exercise on this rank. Returns the outcome's kind and sentence, the same on all
    ranks. Collective.

    `text` is the lab's checks.py, because this host may not have the lab's folder. This rank's fault is written into
    `folder` before the other ranks are asked, which may never answer.
    """
    exercise = load(Path(lab), text)[id]
    comm = names["comm"]

    def tell(outcome: CheckOutcome) -> None:
        with suppress(OSError):  # another host has no such folder
            file = Path(folder) / f"{comm.Get_rank()}.part"
            file.write_text(json.dumps([outcome.kind, outcome.sentence]), encoding="utf-8")
            file.rename(file.with_suffix(".json"))

    outcome = run_on_ranks(exercise, comm, names.get(id, MISSING), seconds, tell)
    return outcome.kind, outcome.sentence


def what_was_told(folder: Path) -> tuple[int, CheckOutcome] | None:
    """The outcome of the first rank whose answer is wrong, with its number; None where there is none."""
    for file in sorted(folder.glob("*.json"), key=lambda path: int(path.stem)):
        kind, sentence = json.loads(file.read_text(encoding="utf-8"))
        return int(file.stem), CheckOutcome(kind, sentence)
    return None


REMINDER = 0.1  # seconds after which who has swallowed the first reminder gets another one


class TooLong(BaseException):
    """The time is up. Not an Exception, so that `except Exception` in that code doesn't swallow it."""


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise TooLong in the block when its time is up. Python loops and sleeps are interrupted. Other calls end first.
    Only the main thread can call it."""
    running = True

    def up(_number: int, _frame: FrameType | None) -> None:
        if running:
            raise TooLong

    before = signal.signal(signal.SIGALRM, up)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, REMINDER)
        try:
            yield
        finally:
            running = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
