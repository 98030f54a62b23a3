"""How a training run spent its time."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any, TypeGuard

from workshop.report.analysis.scores import number
from workshop.store.records import RunRecord

# Names of `metrics.seconds`, and how their parts are called; in the order in which they are shown.
NAMES = {"train": "training", "evaluate": "evaluation", "prepare": "preparation"}
WAIT, REST = "wait", "rest"


def spent(run: RunRecord) -> dict[str, float]:
    """A run's seconds by kind: training (its steps without waiting), wait (in its steps, on average over the ranks),
    evaluation, preparation (imports, data, building, and the first steps, which compile) and the rest, such as
    checkpoints. Empty where the run tells no `seconds` of training."""
    seconds = run.metrics.get("seconds")
    if not isinstance(seconds, Mapping) or not _seconds(seconds.get("train")):
        return {}
    parts = {name: float(seconds[key]) for key, name in NAMES.items() if _seconds(seconds.get(key))}
    phases = run.metrics.get("phases")
    if first := _first_steps(run, parts["training"]):
        parts["training"] -= first
        parts["preparation"] = parts.get("preparation", 0.0) + first
    waited = phases.get("wait") if isinstance(phases, Mapping) else None
    if isinstance(waited, list) and waited and all(map(_seconds, waited)):
        waits = min(fmean(waited), parts["training"])
        parts = {"training": parts["training"] - waits, WAIT: waits} | {
            name: value for name, value in parts.items() if name != "training"
        }
    if run.started_at is not None and run.finished_at is not None:
        rest = run.finished_at - run.started_at - sum(parts.values())
        parts[REST] = max(rest, 0.0)
    return {name: value for name, value in parts.items() if value > 0}


def as_long_run(run: RunRecord | None) -> dict[str, float]:
    """A run's seconds in training and in evaluation, as a long run would divide them; empty where it doesn't tell.

    Training counts all steps at the measured steps' speed. The first steps compile, which takes as long as all others
    of a short run.
    """
    metrics: Mapping[str, Any] = run.metrics if run is not None else {}
    phases, steps = metrics.get("phases"), metrics.get("measured_steps")
    evaluate = (metrics.get("seconds") or {}).get("evaluate")
    if not isinstance(phases, Mapping) or not phases or not steps or not isinstance(evaluate, (int, float)):
        return {}
    longest = max(sum(of_rank) for of_rank in zip(*phases.values(), strict=True))
    train = longest / steps * (metrics.get("iterations") or steps)
    return {"train": train, "evaluate": float(evaluate)} if train > 0 else {}


def evaluation_share(run: RunRecord) -> float | None:
    """Evaluation's share of the time of training and evaluation, as in figure 9 of Rawat and Kapoor 2021. It depends
    neither on a process's start nor on the length of the training. None where a run doesn't tell."""
    parts = spent(run)
    work = sum(parts.get(name, 0.0) for name in ("training", WAIT, "evaluation"))
    return parts.get("evaluation", 0.0) / work if work > 0 else None


def _first_steps(run: RunRecord, trained: float) -> float:
    """Seconds of the first steps, which aren't measured: the seconds that the slowest rank `trained`, without its
    measured steps and the time to tell of all steps. 0 where the run doesn't tell."""
    phases, reporting_share = (run.metrics.get(name) for name in ("phases", "telling_share"))
    if not isinstance(phases, Mapping) or not _seconds(reporting_share):
        return 0.0
    seconds = list(phases.values())
    if not seconds or not all(isinstance(ranks, list) and all(map(_seconds, ranks)) for ranks in seconds):
        return 0.0
    measured = max(map(sum, zip(*seconds, strict=False)), default=0.0)
    return max(trained * (1 - min(reporting_share, 1.0)) - measured, 0.0) if measured else 0.0


def _seconds(value: Any) -> TypeGuard[float]:
    return number(value) and value >= 0
