"""What came out of those questions that only the S-GAN's runs can answer. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from workshop.study.guided.guesses import Answer
from workshop.study.guided.guide import Events
from workshop.study.guided.step_results import StepResults
from workshop.workloads.sgan.study.cells import BEFORE
from workshop.workloads.sgan.study.results import evaluation_shares, threads_of


def _threads(found: StepResults, of: str, events: Events) -> Answer | None:
    run = found.run(found.at(of, cores=1))
    census = threads_of(run) if run is not None else []
    return Answer(float(sum(one.count for one in census))) if census else None


def _growth(found: StepResults, of: str, events: Events) -> Answer | None:
    told = events["memory"].get("predict")
    return Answer(told.added / 1e6, margin=max(told.uncertainty / 1e6, 1.0)) if told else None


def _share(found: StepResults, of: str, events: Events) -> Answer | None:
    most = max(one.point["ranks"] for one in found.results(of))
    share = evaluation_shares(found).get((BEFORE, most))
    return Answer(100 * share, margin=5.0) if share is not None else None


ANSWERS: Mapping[str, Callable[[StepResults, str, Events], Answer | None]] = {
    "threads": _threads,
    "growth": _growth,
    "share": _share,
}
