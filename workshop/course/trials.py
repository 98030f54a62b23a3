"""How checks try what learners have written: in this process, on ranks that are threads, and then on the real ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.course.exercise_checks import RIGHT, Elsewhere, Hint
from workshop.course.simulated_ranks import ROOTED, Rehearsal, rehearse

TOGETHER = (
    "A collective needs every rank: all call the same ones, in the same order and as often, so it can't stand behind a "
    "condition that only some of them meet."
)
WORLDS = (2, 3)  # ranks with which everything is rehearsed, besides those that are there
LONGEST_ARGUMENTS = 120  # characters of arguments in a hint


def is_empty(answer: Any) -> bool:
    """Whether nothing has come: the exercise is as it was."""
    return answer is None or answer is ...


def called(name: str, function: Any, *arguments: Any) -> Any:
    """The answer of the learner's function `name`. Raises Hint where it is no function or answers nothing."""
    if not callable(function):
        raise Hint(f"{name} should be a function, but it is {function!r:.60}; define it with `def`.")
    answer = function(*arguments)
    if is_empty(answer):
        raise Hint(f"Nothing is there yet: {call(name, *arguments)} returns nothing.")
    return answer


def array_answer(answer: Any, expected: Any, name: str) -> NDArray[np.float64]:
    """The result of the learner's function `name`, as an array of the shape of `expected`. Raises Hint."""
    if is_empty(answer):
        raise Hint(
            f"Nothing is there yet: put your code in place of `...  # your code` in {name}, and return what the text "
            "asks for."
        )
    try:
        numbers = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError):
        raise Hint(f"{name} should give back an array of numbers, and gives {type(answer).__name__}.") from None
    if numbers.shape != np.shape(expected):
        raise Hint(
            f"{name} should give back an array of the shape {np.shape(expected)}, one number for each weight of the "
            f"model; yours has {numbers.shape}."
        )
    return numbers


def is_close(values: Any, others: Any) -> bool:
    """Whether two arrays of one shape are equal but for rounding."""
    return bool(np.allclose(values, others, rtol=1e-5, atol=1e-7))


def raise_mistake(answer: Any, expected: Any, mistakes: Sequence[tuple[Any, str]]) -> None:
    """Raise the hint of the first mistake whose result is the answer. `mistakes` are pairs of result and hint."""
    if is_close(answer, expected):
        return
    for result, hint in mistakes:
        if is_close(answer, result):
            raise Hint(hint)


def call(name: str, *arguments: Any) -> str:
    """A call as text, cut where it is long."""
    arguments_text = " ".join(
        ", ".join("comm" if hasattr(argument, "Get_rank") else repr(argument) for argument in arguments).split()
    )
    text = arguments_text if len(arguments_text) <= LONGEST_ARGUMENTS else arguments_text[: LONGEST_ARGUMENTS - 1] + "…"
    return f"{name}({text})"


def worlds(comm: Any) -> list[int]:
    """The numbers of ranks to rehearse with."""
    return sorted({*WORLDS, comm.Get_size()} - {1})


def rehearsed(function: Any, arguments: Sequence[Sequence[Any]], case: str = "", advice: str = TOGETHER) -> Rehearsal:
    """Call the learner's function on as many ranks as there are arguments; no rank waits for ever.

    Raises Hint where a rank would wait, with `case` ("with 0 images") and `advice`, and errors of a rank.
    """
    if not callable(function):
        raise Hint(f"This should be a function, but it is {function!r:.60}; define it with `def`.")
    rehearsal = rehearse(function, arguments)
    for rank, error in enumerate(rehearsal.errors):
        if error is None:
            continue
        if rank and isinstance(error, TypeError) and "NoneType" in str(error):
            rooted = [name for name in (call.partition(" ")[0] for call in rehearsal.calls[rank]) if name in ROOTED]
            if rooted:
                raise Hint(
                    f"Rank {rank} goes on with the None that comm.{rooted[-1]} gives to all ranks but one: only the "
                    "root has the result."
                )
        raise error
    if rehearsal.stuck:
        where = f"On {len(arguments)} ranks{f' {case}' if case else ''}"
        raise Hint(f"{where} this never ends: {rehearsal.stuck}. {advice}")
    return rehearsal


@contextmanager
def together(comm: Any) -> Iterator[None]:
    """A fault that a rank finds in this block ends the check on all ranks, before another rank waits for it.
    Collective: a rank that raises here meets the others at the end of its check (`exercise_checks.run_on_ranks`)."""
    yield
    outcomes = comm.allgather((RIGHT.kind, RIGHT.sentence))
    if any(kind != RIGHT.kind for kind, _ in outcomes):
        raise Elsewhere(outcomes)


def confirmed(comm: Any, function: Callable[..., Any], arguments: Sequence[Any], right: Callable[[Any], bool]) -> None:
    """Check that the function gives the same results on the real ranks as in the rehearsals. Collective. Raises
    Hint."""
    with together(comm):
        answer = function(comm, *arguments)
        if not right(answer):
            raise Hint(
                f"On the {comm.Get_size()} ranks of this notebook something else comes out than in a rehearsal, where "
                "all was right: does it use anything that it wasn't given?"
            )
