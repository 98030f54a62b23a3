"""The facts of the verdict on elastic training, and the card with its losses and new ranks, also during the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core import words
from workshop.engine.training.checkpoint import young
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts
from workshop.report.cards import Card, line, table
from workshop.report.cards import paragraph as sentences
from workshop.report.snapshot import Panel, Snapshot
from workshop.workloads.elastic.kills import random_mean

Record = Mapping[str, Any]  # of a loss or of a new rank, as the run tells it
HEADINGS = ("What happened", "Step", "Noticed after", "Repair", "Next step after", "Ranks that go on")
ABOUT = (
    "Times are from the end of the last whole step. A repair is the agreement of the ranks that are left, and the "
    "transfer of the newest state. Ranks keep the numbers that they had at the start."
)


def _records(metrics: Mapping[str, Any], name: str) -> Sequence[Record]:
    return metrics.get(name) or ()


def facts(facts: Facts, totals: Totals) -> dict[str, Any]:
    """The ranks that were lost, the epochs whose images were not read once each, and which interval between checkpoints
    suits random kills, from the measured cost of a checkpoint."""
    metrics, mean = facts.metrics, random_mean(str(facts.run.params.get("kill", "")))
    count = metrics.get("train_images")
    lost = [loss["rank"] for loss in _records(metrics, "losses")]
    wrong = [
        epoch["epoch"]
        for epoch in metrics.get("examples_read") or ()
        if not epoch["read"] == epoch["distinct"] == count
    ]
    figures, updates = metrics.get("checkpoints"), metrics.get("updates")
    if mean is None or not figures or not updates:
        return {"lost": lost, "wrong_epochs": wrong}
    step = metrics["seconds"]["train"] / updates
    cost = figures["seconds_blocked"] / (figures["written"] + figures["left_out"])
    cost += figures["seconds_processor"] / figures["written"]
    best = young(cost, mean * step)
    return {
        "lost": lost,
        "wrong_epochs": wrong,
        "kill_mean": mean,
        "step_seconds": step,
        "checkpoint_cost": cost,
        "young": best,
        "young_steps": max(round(best / step), 1),
    }


def events(snapshot: Snapshot) -> list[Card]:
    """The losses and new ranks in a table; nothing while all is well."""
    losses, joins = (_records(snapshot.run.metrics, name) for name in ("losses", "joins"))
    if not losses and not joins:
        return []
    about = sentences(line(ABOUT, tone="about"))
    return [Card("membership", "Who is gone, and who goes on", (about, table(HEADINGS, _rows(losses, joins))))]


def _rows(losses: Sequence[Record], joins: Sequence[Record]) -> list[list[str]]:
    """A row below `HEADINGS` for each loss and each new rank."""
    lost = ("noticed_seconds", "repair_seconds", "next_step_seconds")
    joined = ("", "pause_seconds", "")
    records = [(f"rank {loss['rank']} is gone", loss, lost) for loss in losses]
    records += [(f"new rank {join['rank']}", join, joined) for join in joins]
    return [
        [
            what,
            str(record["step"] or ""),
            *("" if record.get(name) is None else words.seconds(record[name]) for name in names),
            words.numbered("rank", record["ranks"]),
        ]
        for what, record, names in records
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
