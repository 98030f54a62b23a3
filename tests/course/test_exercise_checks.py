"""Answers are right or get a sentence, whatever learners have written, and code that doesn't end is ended."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.course import labs
from workshop.core.errors import BadInput
from workshop.course import exercise_checks
from workshop.course.exercise_checks import (
    MISSING,
    PLACEHOLDER,
    CheckOutcome,
    Exercise,
    Hint,
    TooLong,
    answer,
    limit,
    run,
    run_on_ranks,
)


def five(given: Any) -> None:
    if given(2) != 5:
        raise Hint("It should be 5.")


FIVE = Exercise("five_of", five)


def told(code: str, seconds: float = 5.0) -> CheckOutcome:
    return run(FIVE, answer(code, FIVE.id), seconds)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "def five_of(a):\n    b = a\n    return b / 0\n",
            "Line 3 of your cell (return b / 0) raised ZeroDivisionError",
        ),
        ("def five_of(a):\n    return five_of(a)\n", "RecursionError: it calls itself without an end"),
        ("def five_of(a):\n    raise SystemExit\n", "which would end the notebook's kernel"),
        ("def five_of():\n    return 5\n", "can't be called as the exercise asks"),
        ("%%ranks\ndef five_of(a):\n    return b\n", "Line 3 of your cell (return b) raised NameError"),
        ("def five_of(a):\n    raise ValueError('x' * 10_000)\n", "xx…"),
    ],
)
def test_exception_is_a_sentence_with_the_line_of_the_cell(code: str, said: str) -> None:
    found = told(code)
    assert found.kind == "error"
    assert said in found.sentence
    assert "\n" not in found.sentence and len(found.sentence) < 500


def test_line_is_that_of_the_cell_and_not_of_a_library() -> None:
    found = told("import json\ndef five_of(a):\n    return json.loads('{')\n")
    assert found.sentence.startswith("Line 3 of your cell (return json.loads('{')) raised JSONDecodeError")


def test_loop_without_end() -> None:
    found = told("def five_of(a):\n    while True:\n        pass\n", 0.1)
    assert found.kind == "late"
    assert "0.1 s" in found.sentence


@pytest.mark.parametrize("value", [MISSING, ..., None])
def test_nothing_there(value: Any) -> None:
    found = run(FIVE, value)
    assert found.kind == "empty"
    assert found.sentence.startswith("Nothing is there yet: ")
    assert "five_of" in found.sentence


def test_placeholder_that_leads_to_an_exception() -> None:
    found = told(f"def five_of(a):\n    {PLACEHOLDER}\n    return total\n")
    assert found.kind == "empty"
    assert "still stands in line 2" in found.sentence and "Line 3" in found.sentence


def test_prints_of_an_answer_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert told("def five_of(a):\n    print('hello')\n    return 5\n").right
    assert capsys.readouterr().out == ""


def test_interrupt_goes_on() -> None:
    def check(given: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Exercise("x", check), 1)


class Comm:
    """As much of a communicator as is needed: what other ranks would say is known."""

    def __init__(self, *others: tuple[str, str]) -> None:
        self.others = list(others)

    def allgather(self, mine: tuple[str, str]) -> list[tuple[str, str]]:
        return [mine, *self.others]


def on_ranks(check: Any, *others: tuple[str, str], **named: Any) -> CheckOutcome:
    return run_on_ranks(Exercise("x", lambda comm, given: check(given), ranks=True), Comm(*others), 1, **named)


def right(given: Any) -> None:
    return None


def wrong(given: Any) -> None:
    raise Hint("Look again.")


def test_ranks_agree() -> None:
    assert on_ranks(right, ("right", "")).right
    assert on_ranks(wrong, ("hint", "Look again.")) == CheckOutcome("hint", "Look again.")
    assert on_ranks(wrong, ("right", "")) == CheckOutcome("hint", "Rank 0: Look again.")
    assert on_ranks(right, ("right", ""), ("error", "It broke.")) == CheckOutcome("error", "Rank 2: It broke.")


def test_what_went_wrong_on_a_rank_is_told_before_others_are_asked() -> None:
    heard: list[CheckOutcome] = []
    on_ranks(wrong, ("right", ""), tell=heard.append)
    on_ranks(right, ("right", ""), tell=heard.append)
    assert heard == [CheckOutcome("hint", "Look again.")]


def test_checks_and_mistakes_of_a_lab(tmp_path: Path) -> None:
    folder = labs.small(tmp_path)
    checks, mistakes = exercise_checks.load(folder), exercise_checks.mistakes(folder)
    assert list(checks) == list(mistakes) == ["total"]
    for mistake in mistakes["total"]:
        found = run(checks["total"], answer(mistake.code, "total"))
        assert mistake.hint in found.sentence, mistake.name
    with pytest.raises(Hint):
        checks["total"].check(lambda one, other: 7)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "has no checks"),
        ("1 / 0\n", "line 1: ZeroDivisionError"),
        ("def (:\n", "line 1: SyntaxError"),
        (labs.CHECKS + labs.CHECKS.replace("def total", "def again"), "two checks for the exercise 'total'"),
    ],
)
def test_bad_checks(tmp_path: Path, text: str, said: str) -> None:
    folder = labs.small(tmp_path, checks=text)
    with pytest.raises(BadInput, match=r"checks\.py") as raised:
        exercise_checks.load(folder)
    assert said in str(raised.value)


@pytest.mark.parametrize("text", ["x = 1\n", "MISTAKES = {'total': 1}\n"])
def test_bad_mistakes(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadInput, match="MISTAKES"):
        exercise_checks.mistakes(labs.small(tmp_path, mistakes=text))


SHORT = 0.1
ENOUGH = 1.0  # for code that ends at once, also on a machine that lets it wait


# As learners write it.
LOOPS = """
def endless():
    while True:
        pass


def stubborn():
    while True:
        try:
            pass
        except:
            pass


def swallowing():
    while True:
        try:
            time.sleep(0.01)
        except Exception:
            pass
"""
written: dict[str, Any] = {"time": time}
exec(LOOPS, written)
each = pytest.mark.parametrize("name", ["endless", "stubborn", "swallowing"])


def limited(code: Callable[[], None], seconds: float = SHORT) -> bool:
    try:
        with limit(seconds):
            code()
    except TooLong:
        return True
    return False


@each
def test_loop_without_end_is_ended(name: str) -> None:
    assert limited(written[name])


def test_quick_code_is_left_alone() -> None:
    before = signal.getsignal(signal.SIGALRM)
    assert not limited(lambda: None, ENOUGH)
    time.sleep(ENOUGH + SHORT)  # no alarm comes late
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_other_exceptions_pass() -> None:
    with pytest.raises(ZeroDivisionError), limit(ENOUGH):
        raise ZeroDivisionError
