"""What a study has found so far: what reports of all kinds have in common, and their documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.study.trials import status


@dataclass(frozen=True)
class Report:
    """What a study has found so far. Each kind has a subclass; a study of an unknown kind has this class itself."""

    study: StudyRecord
    trials: Sequence[Trial]
    runs: Mapping[int, RunRecord]  # by id
    verdict: Mapping[str, str]  # verdict, why, next

    @property
    def rate(self) -> str:
        """The metric that the study compares; empty where it doesn't say."""
        return str(self.study.description.get("rate") or "")

    @property
    def unit(self) -> str:
        return str(self.study.description.get("unit") or "")

    def findings(self) -> dict[str, Any]:
        """What this kind of study adds to the document."""
        return {}

    def as_json(self) -> dict[str, Any]:
        """The document of `workshop study run|show|resume --json`."""
        study = self.study
        return {
            "study": study.id,
            "kind": study.kind,
            "workload": study.workload,
            "state": study.state,
            "created_at": study.created_at,
            "finished_at": study.finished_at,
            **self.findings(),
            "verdict": dict(self.verdict),
            "trials": [trial_json(trial, self.runs, self.rate) for trial in self.trials],
        }


def unknown(study: StudyRecord, trials: Sequence[Trial], runs: Mapping[int, RunRecord]) -> Report:
    """A report on a study of a kind that this program doesn't know, such as a newer one's: its trials as they are."""
    said = {
        "verdict": "This workshop doesn't know what to make of this study.",
        "why": f"It is of the kind {study.kind}, perhaps a newer program's. Its runs are ordinary ones.",
        "next": "Look at them one by one.",
    }
    return Report(study, trials, runs, said)


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
