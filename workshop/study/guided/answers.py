"""What learners are asked beforehand in each step, and what came out. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from workshop.study.guided.cells import BEFORE
from workshop.study.guided.guesses import Answer, Ask, ChoiceGuess, NumberGuess
from workshop.study.guided.memory import Growth
from workshop.study.guided.step_results import StepResults, gain, name, threads_of
from workshop.study.guided.steps import step
from workshop.study.results import ranked

Grown = Mapping[str, Growth]  # by the way to ask the classifier


def ask(found: StepResults, of: str) -> Ask:
    """A step's question; a choice is one of its cells."""
    one = step(of)
    if one.number:
        return NumberGuess(one.question, *one.number)
    return ChoiceGuess(one.question, tuple(map(name, found.results(of))))


def answer(found: StepResults, of: str, grown: Grown) -> Answer | None:
    """The answer to a step's question; None where it isn't known yet."""
    return _ANSWERS[step(of).answer](found, of, grown) if found.done(of) else None


def _threads(found: StepResults, of: str, grown: Grown) -> Answer | None:
    run = found.run(found.at(of, cores=1))
    census = threads_of(run) if run is not None else []
    return Answer(float(sum(one.count for one in census))) if census else None


def _gain(found: StepResults, of: str, grown: Grown) -> Answer | None:
    order = ranked(found.results(of))
    if len(order) < 2:
        return None
    most = gain(order[0], order[-1])
    # Where chance alone makes such a difference, whoever guessed none was right.
    return Answer(most, margin=found.chance.usual if found.apart(order[0], order[-1]) else most - 1)


def _winner(found: StepResults, of: str, grown: Grown) -> Answer | None:
    alike = list(map(name, found.ties(of)))
    return Answer(alike[0], tuple(alike[1:])) if alike else None


def _growth(found: StepResults, of: str, grown: Grown) -> Answer | None:
    told = grown.get("predict")
    return Answer(told.added / 1e6, margin=max(told.uncertainty / 1e6, 1.0)) if told else None


def _share(found: StepResults, of: str, grown: Grown) -> Answer | None:
    most = max(one.point["ranks"] for one in found.results(of))
    share = found.evaluation_shares().get((BEFORE, most))
    return Answer(100 * share, margin=5.0) if share is not None else None


def _whole(found: StepResults, of: str, grown: Grown) -> Answer | None:
    measured = [one for one in found.results(of) if one.rates]
    if len(measured) < 2 or measured[0].point["gave"]:  # the naive start itself may have failed
        return None
    return Answer(gain(measured[-1], measured[0]), margin=found.chance.usual)


_ANSWERS: Mapping[str, Callable[[StepResults, str, Grown], Answer | None]] = {
    "threads": _threads,
    "gain": _gain,
    "winner": _winner,
    "growth": _growth,
    "share": _share,
    "whole": _whole,
}
