"""The verdict of a run of the semi-supervised GAN: the verdict of any training run, with a next step of its own."""

from __future__ import annotations

from dataclasses import replace

from workshop.report.analysis.findings import Facts, Finding
from workshop.report.training import outcome
from workshop.report.training import verdict as training


def measured(facts: Facts) -> Finding | None:
    """How far and how fast the run trained; None where it trained nothing."""
    return outcome.reached(facts, _following)


def _following(facts: Facts) -> str:
    supervised, iterations = facts.run.params.get("method") == "supervised", facts.run.params.get("iterations")
    if outcome.missed(facts) and not supervised and isinstance(iterations, int):
        return f"Train for longer (--iterations {2 * iterations}), and see whether it comes to its target."
    if supervised:
        return "Compare with the same labels and all unlabelled images (--method sgan): what do these add?"
    if facts.ranks == 1:
        return outcome.BASELINE
    return (
        f"{outcome.against_one(facts)} Or train the classifier on the labelled images alone (--method supervised), "
        "and see what the others add."
    )


VERDICT = replace(training.VERDICT, outcome=measured)
