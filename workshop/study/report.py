"""What a study has found so far, as one document: from the store to `workshop.analysis`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workshop.analysis.limits import scaling_verdict
from workshop.analysis.published import Published, references
from workshop.analysis.scaling import Measurement, Row, measurement, rows
from workshop.errors import BadInput
from workshop.placement import Placement
from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study.runner import read
from workshop.study.scaling import KIND
from workshop.study.trials import status


@dataclass(frozen=True)
class ScalingReport:
    """A scaling study and what it has found."""

    study: StudyRecord
    trials: list[Trial]
    runs: Mapping[int, RunRecord]  # by id
    rows: list[Row]
    limit: str
    verdict: dict[str, str]
    references: list[Published]

    @property
    def unit(self) -> str:
        return self.study.description["unit"]

    @property
    def weak(self) -> bool:
        return self.study.description["weak"]

    def as_json(self) -> dict[str, Any]:
        """The document of `workshop study run|show|resume --json`."""
        study = self.study
        return {
            "study": study.id,
            "kind": study.kind,
            "workload": study.workload,
            "weak": self.weak,
            "state": study.state,
            "unit": self.unit,
            "params": study.description["params"],
            "placement": study.description["placement"],
            "created_at": study.created_at,
            "finished_at": study.finished_at,
            "rows": [row.as_json() for row in self.rows],
            "limit": self.limit,
            "verdict": self.verdict,
            "references": [one.as_json() for one in self.references],
            "trials": [self.trial_json(trial) for trial in self.trials],
        }

    def trial_json(self, trial: Trial) -> dict[str, Any]:
        run = self.runs.get(trial.run_id or 0)
        return {
            "number": trial.number,
            "label": trial.label,
            "repeat": trial.repeat,
            "status": status(trial, self.runs),
            "run": trial.run_id,
            "rate": run.metrics.get(self.study.description["rate"]) if run is not None else None,
            "error": trial.error or (run.error if run is not None else None),
        }


def title(study: StudyRecord) -> str:
    """A study in a few words, of whatever kind."""
    if study.kind != KIND:
        return f"{study.kind} of {study.workload}"
    return f"{'weak' if study.description['weak'] else 'strong'} scaling of {study.workload}"


def report(store: Store, study: StudyRecord) -> ScalingReport:
    """What a study has found so far. Raises BadInput for a kind that this program doesn't know."""
    if study.kind != KIND:
        raise BadInput(f"Study {study.id} is of the kind {study.kind!r}, which this workshop can't show.")
    return scaling_report(store, study)


def scaling_report(store: Store, study: StudyRecord) -> ScalingReport:
    """What a scaling study has found so far."""
    trials, runs = read(store, study.id)
    rate = study.description["rate"]
    found = rows(_measured(store, trial, runs.get(trial.run_id or 0), rate) for trial in trials)
    limit, verdict = scaling_verdict(found, study.description["weak"])
    largest = max((row.ranks for row in found), default=1)
    known = references(largest) if found and found[0].ranks == 1 else []
    return ScalingReport(study, trials, runs, found, limit, verdict, known)


def _measured(store: Store, trial: Trial, run: RunRecord | None, rate: str) -> Measurement:
    where = Placement.parse(trial.placement)
    if trial.error is not None:
        failed = f"{trial.error['type']}: {trial.error['message']}"
        return Measurement(where.ranks, where.threads_per_rank, trial.run_id, failed=failed)
    if run is None:
        return Measurement(where.ranks, where.threads_per_rank)
    totals = {} if run.metrics.get("phases") else store.totals(run.id)
    return measurement(run, totals, rate)
