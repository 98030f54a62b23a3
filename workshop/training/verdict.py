"""The verdict of workloads that train."""

from __future__ import annotations

from workshop.extension import Observations, Verdict
from workshop.report.analysis import placement
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts
from workshop.report.analysis.timing import reading
from workshop.training import outcome, timing
from workshop.training.divergence import diverged
from workshop.training.recipe import recipe

CHECKS = (
    placement.on_one_host,
    placement.oversubscribed,
    timing.straggling,
    timing.talking,
    outcome.evaluating,
    timing.restless,
    reading,
    placement.idle,
    placement.unbound,
)


def observe(facts: Facts, totals: Totals) -> Observations:
    """The faults of a training run, and remarks on it."""
    faults, remarks = recipe(facts, totals)
    return Observations(faults, [*remarks, *outcome.remarks(facts)], timing.shares(facts), diverged(facts))


VERDICT = Verdict(outcome.reached, checks=lambda facts: CHECKS, observe=observe)
