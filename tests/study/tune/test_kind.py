"""Pruning, and what the report says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.study.tune import cases
from workshop.study.kinds import Watched
from workshop.study.tune import kind
from workshop.study.tune.kind import reported
from workshop.study.tune.study import key


def begun(rate: float = 10_000.0) -> tuple[Any, Any, Any]:
    """A study whose default has been measured; with the naive start and the next trial."""
    asked = cases.asked()
    (first,) = kind.more(cases.sofar(asked, [], {}))
    done, run = cases.ended(first, rate)
    (naive,) = kind.more(cases.sofar(asked, [done], {run.id: run}))
    slow, other = cases.ended(naive, rate / 2)
    sofar = cases.sofar(asked, [done, slow], {run.id: run, other.id: other})
    (trial,) = kind.more(sofar)
    return sofar, naive, trial


def watched(rate: float | None, seconds: float) -> Watched:
    _, run = cases.ended(begun()[2], 1.0)
    return Watched(run, seconds, rate)


@settings(deadline=None, max_examples=50)
@given(st.floats(0, 30_000), st.floats(0, 10))
def test_only_what_is_far_below_the_best_for_a_second_is_hopeless(rate: float, seconds: float) -> None:
    sofar, naive, trial = begun()
    said = kind.hopeless(sofar, trial, watched(rate, seconds))
    assert (said is not None) == (rate < 7000.0 and seconds >= 1.0)
    assert kind.hopeless(sofar, naive, watched(rate, seconds)) is None, "the yardstick"
    assert kind.hopeless(sofar, replace(trial, repeat=2), watched(rate, seconds)) is None, "figures for the verdict"


def test_the_estimator_learns_from_what_was_pruned() -> None:
    """A pruned trial counts with what it had reached, and its placement is not tried again."""
    sofar, _, trial = begun()
    _, run = cases.ended(trial, 1.0)
    gone = replace(trial, run_id=run.id, pruned={"why": "too slow", "rate": 4000.0, "seconds": 1.1})
    cancelled = replace(run, status="cancelled", metrics={})
    later = cases.sofar(cases.asked(), [*sofar.trials, gone], {**sofar.runs, run.id: cancelled})
    further = kind.more(later)
    assert key(further[0].point) not in {key(one.point) for one in later.trials}
    found = reported(later.study, later.trials, later.runs)
    assert [cell.status for cell in found.cells] == ["completed", "completed", "pruned"]


def test_the_report() -> None:
    asked = cases.asked(budget=250.0)
    trials, runs = cases.searched(asked, lambda point: 5000.0 * min(point["ranks"], 2) + len(point["exchange"]))
    found = reported(replace(cases.study(asked), state="completed", finished_at=1.0), trials, runs)
    told = found.as_json()
    assert found.best is not None and found.best.placement["ranks"] >= 2
    assert told["gain"]["ratio"] > 1.9 and told["sure"]
    assert "times as fast as the naive start" in told["verdict"]["verdict"]
    assert f"{len({trial.label for trial in trials})} of 76 possible placements" in told["verdict"]["why"]
    assert told["command"].startswith("workshop run mnist ") and " --ranks " in told["command"]
    assert "python -m workshop.engine mnist" in told["mpirun"] and told["mpirun"].startswith("mpirun -n ")
    assert told["spent"] == 10.0 * len(trials)
    assert {row["status"] for row in told["rows"]} == {"completed"}


def test_the_commands_have_what_was_found_and_nothing_that_only_trials_have() -> None:
    asked = cases.asked(
        params={"batch": 256, "steps": 250, "exchange": "auto", "model": "dense"}, load={"model": "dense"}
    )
    point = {**asked.begin[2], "env.OMPI_MCA_mpi_yield_when_idle": "0"}
    trials, runs = cases.searched(replace(asked, begin=[point, asked.naive]), lambda p: 9e3 if p == point else 1e3)
    found = reported(cases.study(asked), trials, runs)
    command = found.command or ""
    for words in ("--ranks 2", "--threads 1", "--bind-to core", "--exchange mpi", "--model dense", "--batch 128",
                  "--env OMPI_MCA_mpi_yield_when_idle=0"):  # fmt: skip
        assert words in command, words
    assert "--steps" not in command
    assert "-x OMPI_MCA_mpi_yield_when_idle=0" in (found.mpirun or "")
    gone = reported(replace(cases.study(asked), workload="gone"), trials, runs)
    assert (gone.command, gone.mpirun) == (None, None), "it can still be looked at"


def test_a_study_without_results_says_how_to_go_on() -> None:
    asked = cases.asked()
    found = reported(cases.study(asked), [], {})
    assert (found.best, found.gain, found.command) == (None, None, None)
    assert found.verdict["next"] == "Let the study go on."
    failed, runs = cases.searched(asked, lambda point: "RankDied")
    assert "RankDied" in reported(cases.study(asked), failed, runs).verdict["why"]


def test_where_nothing_beats_the_naive_start() -> None:
    asked = cases.asked(budget=250.0)
    trials, runs = cases.searched(
        asked, lambda point: 1000.0 / point["ranks"] * (1 if point["bind_to"] == "core" else 0.5)
    )
    found = reported(replace(cases.study(asked), finished_at=1.0), trials, runs)
    assert found.best is not None
    said = found.verdict["verdict"]
    assert "naive start" in said and "times as fast" not in said
