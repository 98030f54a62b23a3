"""Tuning as a kind of study."""

from __future__ import annotations

from workshop.core import words
from workshop.store.records import StudyRecord, Trial
from workshop.study.kinds import Kind, Sofar, Watched
from workshop.study.results import best, results
from workshop.study.tune.report import tune_report
from workshop.study.tune.search import more, total
from workshop.study.tune.space import key

NAME = "tune"
# The repeats of a placement lie within a tenth or two of each other on a machine that does other things as well, and
# what a run tells while it goes on leaves out the time between its steps, so it rather flatters. Below this share of
# the best rate, no luck makes a winner.
HOPELESS = 0.7
JUDGED = 1.0  # seconds of measured steps before which nobody is judged


def hopeless(sofar: Sofar, trial: Trial, watched: Watched) -> str | None:
    """Why a trial can no longer win, in a sentence; None while it can. The naive start is the yardstick and the
    repeats at the end are figures for the verdict: neither is ever ended early."""
    description = sofar.study.description
    if trial.repeat > 1 or key(trial.point) == key(description["naive"]):
        return None
    if watched.rate is None or watched.seconds < JUDGED:
        return None
    leader = best(results(sofar.trials, sofar.runs, description["rate"]))
    if leader is None or leader.median is None or watched.rate >= HOPELESS * leader.median:
        return None
    return (
        f"After {watched.seconds:.1f} s it did {words.rate(watched.rate)} {description['unit']}, "
        f"{words.percent(watched.rate / leader.median)} of the best so far ({leader.label})."
    )


def title(study: StudyRecord) -> str:
    """A tuning study in a few words."""
    budget = study.description["budget"]
    return f"tuning of {study.workload}" + (f" in {words.seconds(budget)}" if budget else "")


KIND = Kind(NAME, title, tune_report, more, total, hopeless)
