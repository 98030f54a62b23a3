"""What learners are asked beforehand in each step, and what came out. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from workshop.study.guided.guesses import Answer, Ask, ChoiceGuess, NumberGuess
from workshop.study.guided.guide import Events
from workshop.study.guided.step_results import StepResults, gain, name
from workshop.study.results import ranked


def ask(found: StepResults, of: str) -> Ask:
    """A step's question; a choice is one of its cells."""
    one = found.setting.guide.step(of)
    if one.number:
        return NumberGuess(one.question, *one.number)
    return ChoiceGuess(one.question, tuple(map(name, found.results(of))))


def answer(found: StepResults, of: str, events: Events) -> Answer | None:
    """The answer to a step's question; None where it isn't known yet."""
    guide = found.setting.guide
    answers = {**ANSWERS, **guide.answers}
    return answers[guide.step(of).answer](found, of, events) if found.done(of) else None


def _gain(found: StepResults, of: str, events: Events) -> Answer | None:
    order = ranked(found.results(of))
    if len(order) < 2:
        return None
    most = gain(order[0], order[-1])
    # Where chance alone makes such a difference, whoever guessed none was right.
    return Answer(most, margin=found.chance.usual if found.apart(order[0], order[-1]) else most - 1)


def _winner(found: StepResults, of: str, events: Events) -> Answer | None:
    alike = list(map(name, found.ties(of)))
    return Answer(alike[0], tuple(alike[1:])) if alike else None


def _whole(found: StepResults, of: str, events: Events) -> Answer | None:
    measured = [one for one in found.results(of) if one.rates]
    if len(measured) < 2 or measured[0].point["gave"]:  # the naive start itself may have failed
        return None
    return Answer(gain(measured[-1], measured[0]), margin=found.chance.usual)


# Those of any guided study: how many times as fast the best cell is as the worst, which cell is the fastest, and how
# many times as fast the last stage is as the first.
ANSWERS: Mapping[str, Callable[[StepResults, str, Events], Answer | None]] = {
    "gain": _gain,
    "winner": _winner,
    "whole": _whole,
}
