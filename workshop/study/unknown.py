"""A report on a study of a kind that this program doesn't know, such as a newer one's: its trials as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.study.report import study_json, trial_json


@dataclass(frozen=True)
class Unknown:
    """As `workshop.study.kinds.Report`."""

    study: StudyRecord
    trials: Sequence[Trial]
    runs: Mapping[int, RunRecord]
    verdict: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        trials = [trial_json(trial, self.runs, "") for trial in self.trials]
        return {**study_json(self.study), "verdict": dict(self.verdict), "trials": trials}


def unknown(study: StudyRecord, trials: Sequence[Trial], runs: Mapping[int, RunRecord]) -> Unknown:
    said = {
        "verdict": "This workshop doesn't know what to make of this study.",
        "why": f"It is of the kind {study.kind}, perhaps a newer program's. Its runs are ordinary ones.",
        "next": "Look at them one by one.",
    }
    return Unknown(study, trials, runs, said)
