"""The article's path for `workshop.study.guided`: its steps and the S-GAN's functions for them."""

from __future__ import annotations

from collections.abc import Mapping

from workshop.store.store import Store
from workshop.study.guided.guide import Guide
from workshop.study.guided.kind import kind
from workshop.study.guided.plan import form
from workshop.study.guided.step_results import StepResults
from workshop.study.scaling.efficiency import PUBLISHED
from workshop.workloads.sgan.study.cells import cells, later
from workshop.workloads.sgan.study.verdicts import ANSWERS, Growth, growth, judge


def _events(store: Store, findings: StepResults) -> Mapping[str, Mapping[str, Growth]]:
    """How resident memory grows with each way to ask the classifier."""
    growth_by_way = {}
    for cell, run in findings.measured("e"):
        values = [event.value for event in store.events(run.id, ["memory"], rank=0)]
        if (how := growth(values)) is not None:
            growth_by_way[cell.point["inference"]] = how
    return {"memory": growth_by_way}


GUIDE = Guide.read(
    __package__,
    source=next(published.source for published in PUBLISHED if published.what == "S-GAN"),
    cells=cells,
    later=later,
    events=_events,
    judge=judge,
    answers=ANSWERS,
    figures="workshop.workloads.sgan.study.cards:FIGURES",
)
KIND = kind(GUIDE)
FORM = form(GUIDE)
