"""What came out of that which learners predict. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from workshop.study.guided.cells import BEFORE
from workshop.study.guided.evidence import share_of_evaluation, threads_of
from workshop.study.guided.found import Found
from workshop.study.guided.guesses import Answer
from workshop.study.guided.saying import Grown, at, name, times
from workshop.study.results import ranked


def answer(found: Found, step: str, grown: Grown) -> Answer | None:
    """The answer to a step's question; None where it isn't known yet."""
    return _ANSWERS[step](found, grown) if found.done(step) else None


def _of_threads(found: Found, grown: Grown) -> Answer | None:
    run = found.run(at(found, "a", cores=1))
    census = threads_of(run) if run is not None else []
    return Answer(float(sum(one.count for one in census))) if census else None


def _extremes(step: str) -> Callable[[Found, Grown], Answer | None]:
    def found_out(found: Found, grown: Grown) -> Answer | None:
        order = ranked(found.results(step))
        gain = times(order[0], order[-1]) if len(order) > 1 else None
        if gain is None:
            return None
        # Where chance alone makes such a difference, whoever guessed none was right.
        return Answer(gain, margin=found.chance.usual if found.apart(order[0], order[-1]) else gain - 1)

    return found_out


def _winner(step: str) -> Callable[[Found, Grown], Answer | None]:
    def found_out(found: Found, grown: Grown) -> Answer | None:
        alike = found.ties(step)
        return Answer(name(alike[0]), tuple(map(name, alike[1:]))) if alike else None

    return found_out


def _of_memory(found: Found, grown: Grown) -> Answer | None:
    told = grown.get("predict")
    return Answer(told.added / 1e6, margin=max(told.uncertainty / 1e6, 1.0)) if told else None


def _of_evaluation(found: Found, grown: Grown) -> Answer | None:
    most = max(one.point["ranks"] for one in found.results("h"))
    share = share_of_evaluation(found).get((BEFORE, most))
    return Answer(100 * share, margin=5.0) if share is not None else None


def _of_all(found: Found, grown: Grown) -> Answer | None:
    measured = [one for one in found.results("i") if one.rates]
    started = bool(measured) and not measured[0].point["gave"]  # the naive start itself may have failed
    gain = times(measured[-1], measured[0]) if started and len(measured) > 1 else None
    return Answer(gain, margin=found.chance.usual) if gain is not None else None


_ANSWERS: Mapping[str, Callable[[Found, Grown], Answer | None]] = {
    "a": _of_threads,
    "b": _extremes("b"),
    "c": _extremes("c"),
    "d": _winner("d"),
    "e": _of_memory,
    "f": _winner("f"),
    "g": _winner("g"),
    "h": _of_evaluation,
    "i": _of_all,
}
