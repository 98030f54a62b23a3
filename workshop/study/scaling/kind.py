"""Scaling studies as a kind: what one has found so far, from the store to `workshop.report.analysis`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workshop.core.placement import Placement
from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study.kinds import Kind, read
from workshop.study.references import PublishedSpeedUp, references
from workshop.study.report import Report
from workshop.study.results import failure
from workshop.study.scaling import plan
from workshop.study.scaling.efficiency import Measurement, Row, measurement, rows
from workshop.study.scaling.verdict import scaling_verdict


@dataclass(frozen=True)
class ScalingReport(Report):
    """A scaling study and what it has found."""

    rows: list[Row]
    limit: str
    references: list[PublishedSpeedUp]

    @property
    def weak(self) -> bool:
        return self.study.description["weak"]

    def findings(self) -> dict[str, Any]:
        told = self.study.description
        return {
            "weak": self.weak,
            "unit": self.unit,
            "params": told["params"],
            "placement": told["placement"],
            "rows": [row.as_json() for row in self.rows],
            "limit": self.limit,
            "references": [one.as_json() for one in self.references],
        }


def title(study: StudyRecord) -> str:
    """A scaling study in a few words."""
    return f"{'weak' if study.description['weak'] else 'strong'} scaling of {study.workload}"


def scaling_report(store: Store, study: StudyRecord) -> ScalingReport:
    """What a scaling study has found so far."""
    trials, runs = read(store, study.id)
    rate = study.description["rate"]
    found = rows(_measured(store, trial, runs.get(trial.run_id or 0), rate) for trial in trials)
    limit, verdict = scaling_verdict(found, study.description["weak"])
    largest = max((row.ranks for row in found), default=1)
    known = references(largest) if found and found[0].ranks == 1 else []
    return ScalingReport(study, trials, runs, verdict, found, limit, known)


def _measured(store: Store, trial: Trial, run: RunRecord | None, rate: str) -> Measurement:
    where = Placement.parse(trial.placement)
    if trial.error is not None:
        return Measurement(where.ranks, where.threads_per_rank, trial.run_id, failed=failure(trial, run))
    if run is None:
        return Measurement(where.ranks, where.threads_per_rank)
    totals = {} if run.metrics.get("phases") else store.totals(run.id)
    return measurement(run, totals, rate)


KIND = Kind(plan.KIND, title, scaling_report)
