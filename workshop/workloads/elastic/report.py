"""The verdict on elastic training, and the card with its losses and new ranks, also while the run goes on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workshop.core import words
from workshop.engine.training.checkpoint_interval import young
from workshop.extension import Panel
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.analysis.scores import number, percent
from workshop.report.cards import Card, line, table
from workshop.report.cards import words as sentences
from workshop.report.snapshot import Snapshot
from workshop.workloads.elastic.kills import random_mean

Record = Mapping[str, Any]  # of a loss or of a new rank, as the run tells it
HEADINGS = ("What happened", "Step", "Noticed after", "Repair", "Next step after", "Ranks that go on")
ABOUT = (
    "Times are from the end of the last whole step. A repair is the agreement of the ranks that are left, and the "
    "transfer of the newest state. Ranks keep the numbers that they had at the start."
)


def _records(metrics: Mapping[str, Any], name: str) -> Sequence[Record]:
    return metrics.get(name) or ()


def outcome(facts: Facts) -> Finding | None:
    """Say who was lost, what that cost, and who went on; None before the training has ended."""
    metrics = facts.metrics
    if not number(metrics.get("held_out_accuracy")) or "exactly_once" not in metrics:
        return None
    losses = _records(metrics, "losses")
    accuracy = percent(metrics["held_out_accuracy"])
    ranks = metrics["ranks"]
    why = [_cost(metrics) if losses else "", _reading(metrics), _interval(facts)]
    if len(ranks) > 1:
        same = "the same weights" if metrics["same_weights"] else "different weights"
        why.insert(1, f"At the end, {words.numbered('rank', ranks)} have {same}.")
    if not losses:
        verdict = f"No rank was lost; the accuracy is {accuracy}."
    else:
        lost = words.capital(words.numbered("rank", [loss["rank"] for loss in losses]))
        was = words.verb(len({loss["rank"] for loss in losses}), "was", "were")
        verdict = f"{lost} {was} lost, and the training went on; the accuracy is {accuracy}."
    return Finding(verdict, " ".join(filter(None, why)), _following(metrics, losses))


def _cost(metrics: Mapping[str, Any]) -> str:
    """How soon the next step was complete after a loss, and the steps that were trained a second time."""
    lost, repeated = metrics["lost_steps"], metrics["repeated_steps"]
    steps = (
        f"{words.count(lost, 'step')} after the last checkpoint had to be trained again."
        if lost
        else f"No complete step was lost; {words.count(repeated, 'step')} under way had to be repeated."
    )
    if not metrics.get("next_step_seconds"):
        return steps
    return f"The next step was complete {words.seconds(metrics['next_step_seconds'])} after a loss. {steps}"


def _interval(facts: Facts) -> str:
    """Which interval between checkpoints suits random kills, from the measured cost of a checkpoint."""
    metrics, mean = facts.metrics, random_mean(str(facts.run.params.get("kill", "")))
    figures, updates = metrics.get("checkpoints"), metrics.get("updates")
    if mean is None or not figures or not updates:
        return ""
    step = metrics["seconds"]["train"] / updates
    cost = figures["seconds_blocked"] / (figures["written"] + figures["left_out"])
    cost += figures["seconds_processor"] / figures["written"]
    best = young(cost, mean * step)
    return (
        f"A checkpoint cost up to {words.seconds(cost)}, and a kill comes every {mean} steps on average, "
        f"{words.seconds(mean * step)}: Young's interval is {words.seconds(best)}, one checkpoint every "
        f"{words.count(max(round(best / step), 1), 'step')}; this run's is "
        f"{words.count(figures['interval_steps'], 'step')}."
    )


def _reading(metrics: Mapping[str, Any]) -> str:
    if metrics["exactly_once"]:
        return f"Each of {words.count(len(metrics['examples_read']), 'epoch')} read each image once."
    count = metrics["train_images"]
    wrong = [epoch["epoch"] for epoch in metrics["examples_read"] if not epoch["read"] == epoch["distinct"] == count]
    return f"Images were read twice or left out in {words.numbered('epoch', wrong)}."


def _following(metrics: Mapping[str, Any], losses: Sequence[Record]) -> str:
    if not losses:
        return "Kill a rank (--kill 1@step:20): how long does the next step take?"
    if metrics.get("on_failure") == "shrink":
        return "Take a new rank in (--on-failure grow), or begin again (--on-failure restart): which one costs less?"
    return "Go on with fewer ranks (--on-failure shrink): compare the seconds and the accuracy."


def events(snapshot: Snapshot) -> list[Card]:
    """The losses and new ranks in a table; nothing while all is well."""
    losses, joins = (_records(snapshot.run.metrics, name) for name in ("losses", "joins"))
    if not losses and not joins:
        return []
    about = sentences(line(ABOUT, tone="about"))
    return [Card("membership", "Who is gone, and who goes on", (about, table(HEADINGS, _rows(losses, joins))))]


def _rows(losses: Sequence[Record], joins: Sequence[Record]) -> list[list[str]]:
    """A row below `HEADINGS` for each loss and each new rank."""

    def row(what: str, step: int | None, ranks: Sequence[int], *times: float | None) -> list[str]:
        seconds = ["" if each is None else words.seconds(each) for each in times]
        return [what, str(step or ""), *seconds, words.numbered("rank", ranks)]

    def times(loss: Record) -> Iterator[float | None]:
        return (loss.get(name) for name in ("noticed_seconds", "repair_seconds", "next_step_seconds"))

    return [
        *(row(f"rank {loss['rank']} is gone", loss["step"], loss["ranks"], *times(loss)) for loss in losses),
        *(
            row(f"new rank {join['rank']}", join["step"], join["ranks"], None, join["pause_seconds"], None)
            for join in joins
        ),
    ]


PANELS = (
    Panel(
        "membership",
        events,
        lambda snapshot: (snapshot.run.metrics.get("losses"), snapshot.run.metrics.get("joins")),
        comparison=events,
        metrics=("losses", "joins", "next_step_seconds", "lost_steps", "repeated_steps"),
    ),
)
