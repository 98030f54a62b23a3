"""What every run's page has: what went wrong, the verdict, where the ranks ran, what came out, files."""

from __future__ import annotations

from workshop.core.forms import param_of_runs
from workshop.core.words import size
from workshop.report.analysis.balance import balance
from workshop.report.analysis.oversubscription import threads_of
from workshop.report.cards import Card, Part, fold, line, link, links, tiles, words
from workshop.report.machine_picture import machine_card
from workshop.report.panels import training
from workshop.report.sentences import LONGEST_VALUE, metrics_of, short_traceback
from workshop.report.snapshot import Snapshot
from workshop.report.verdict import verdict as verdict_of

SETTLED = 3  # steps before a running run's verdict says anything
CHECKPOINT = "checkpoint.npz"


def error(snapshot: Snapshot) -> list[Card]:
    """What a rank raised, or how the run ended otherwise, with the traceback behind a fold."""
    failure = snapshot.run.error
    if not failure:
        return []
    where = "" if failure.get("rank") is None else f"Rank {failure['rank']} on {failure['host']}: "
    parts: list[Part] = [words(line(f"{where}{failure['type']}: {failure['message']}", tone="message"))]
    if failure.get("traceback"):
        parts.append(fold("Traceback", short_traceback(failure["traceback"])))
    return [Card("error", "What went wrong", tuple(parts), tone="error")]


def again(snapshot: Snapshot) -> list[Card]:
    """The way on for a run that ended early and has kept a checkpoint."""
    run, known = snapshot.run, snapshot.workload
    resumes = param_of_runs(known.params) if known else None
    if run.status not in ("failed", "cancelled", "interrupted") or CHECKPOINT not in snapshot.artifacts or not resumes:
        return []
    said = words(line("It has kept a checkpoint: a new run can begin where that was written, with the same settings."))
    button = link(f"/run?run={run.id}&again={run.id}", "Go on from this run", button=True)
    return [Card("again", "", (said, links(button)))]


def verdict(snapshot: Snapshot) -> list[Card]:
    """What to make of the run; of one that goes on, what can be seen so far."""
    said, label = snapshot.run.verdict, "Verdict"
    if snapshot.run.status == "running":
        spent = balance(snapshot.totals, snapshot.ranks, snapshot.run.metrics)
        if spent is not None and spent.steps >= SETTLED:
            said, label = verdict_of(snapshot.run, snapshot.totals), "So far"
    if not said:
        return []
    lines = (
        line(label, tone="label"),
        line(said["verdict"], tone="heading"),
        line(said["why"], "Why"),
        line(said["next"], "Next"),
    )
    return [Card("verdict", "", (words(*lines),), tone="verdict")]


def machine(snapshot: Snapshot) -> list[Card]:
    """The ranks on the machine."""
    return machine_card("Where the ranks run", snapshot.run.machine, snapshot.run.rank_map, threads_of(snapshot.run))


def came_out(snapshot: Snapshot) -> list[Card]:
    """Metrics that fit into a tile and that no other card tells, once there will be no others."""
    if not snapshot.run.ended:
        return []
    told = training.TOLD_HERE.union(*(panel.told for panel in snapshot.own_panels))
    shown = [one for one in metrics_of(snapshot.run, told) if len(one["value"]) <= LONGEST_VALUE]
    return [Card("metrics", "What came out", (tiles(shown),), later=True)] if shown else []


def files(snapshot: Snapshot) -> list[Card]:
    shown = [link(snapshot.url(name), name, size(found.size)) for name, found in snapshot.artifacts.items()]
    return [Card("files", "Files", (links(*shown),), later=True)] if shown else []
