"""What documents of all kinds of studies have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.study.trials import status


def study_json(study: StudyRecord) -> dict[str, Any]:
    """The head of a study's document."""
    return {
        "study": study.id,
        "kind": study.kind,
        "workload": study.workload,
        "state": study.state,
        "created_at": study.created_at,
        "finished_at": study.finished_at,
    }


def trial_json(trial: Trial, runs: Mapping[int, RunRecord], rate: str) -> dict[str, Any]:
    """One trial; `rate` names the metric that the study compares."""
    run = runs.get(trial.run_id or 0)
    return {
        "number": trial.number,
        "label": trial.label,
        "point": trial.point,
        "repeat": trial.repeat,
        "status": status(trial, runs),
        "run": trial.run_id,
        "rate": run.metrics.get(rate) if run is not None else None,
        "pruned": trial.pruned,
        "error": trial.error or (run.error if run is not None else None),
    }
