"""The article's path for `workshop.study.guided`: its steps, and what only the S-GAN knows of them."""

from __future__ import annotations

from collections.abc import Mapping

from workshop.store.store import Store
from workshop.study.guided.guide import Guide
from workshop.study.guided.kind import kind
from workshop.study.guided.step_results import StepResults
from workshop.study.references import PUBLISHED
from workshop.workloads.sgan.study.answers import ANSWERS
from workshop.workloads.sgan.study.cells import cells, later
from workshop.workloads.sgan.study.memory import Growth, growth
from workshop.workloads.sgan.study.verdicts import judge


def _events(store: Store, found: StepResults) -> Mapping[str, Mapping[str, Growth]]:
    """How resident memory grows with each way to ask the classifier."""
    told = {}
    for one, run in found.measured("e"):
        values = [event.value for event in store.events(run.id, ["memory"], rank=0)]
        if (how := growth(values)) is not None:
            told[one.point["inference"]] = how
    return {"memory": told}


GUIDE = Guide.read(
    __package__,
    source=next(one.source for one in PUBLISHED if one.what == "S-GAN"),
    cells=cells,
    later=later,
    events=_events,
    judge=judge,
    answers=ANSWERS,
)
KIND = kind(GUIDE)
