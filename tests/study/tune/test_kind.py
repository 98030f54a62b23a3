"""The report of a tuning study."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.study.tune import cases
from workshop.study.tune.kind import reported

pytestmark = pytest.mark.usefixtures("workshop_home")


def test_the_report() -> None:
    asked = cases.asked(budget=150.0)
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
    command = found.commands[0] or ""
    for words in ("--ranks 2", "--threads 1", "--bind-to core", "--exchange mpi", "--model dense", "--batch 128",
                  "--env OMPI_MCA_mpi_yield_when_idle=0"):  # fmt: skip
        assert words in command, words
    assert "--steps" not in command
    assert "-x OMPI_MCA_mpi_yield_when_idle=0" in (found.commands[1] or "")
    gone = reported(replace(cases.study(asked), workload="gone"), trials, runs)
    assert gone.commands == (None, None), "it can still be looked at"


def test_a_study_without_results_says_how_to_go_on() -> None:
    asked = cases.asked()
    found = reported(cases.study(asked), [], {})
    assert (found.best, found.gain, found.commands) == (None, None, (None, None))
    assert found.verdict["next"] == "Let the study go on."
    failed, runs = cases.searched(asked, lambda point: "RankDied", most=3)
    assert "RankDied" in reported(cases.study(asked), failed, runs).verdict["why"]


def test_where_nothing_beats_the_naive_start() -> None:
    asked = cases.asked(budget=150.0)
    trials, runs = cases.searched(
        asked, lambda point: 1000.0 / point["ranks"] * (1 if point["bind_to"] == "core" else 0.5)
    )
    found = reported(replace(cases.study(asked), finished_at=1.0), trials, runs)
    assert found.best is not None
    said = found.verdict["verdict"]
    assert "naive start" in said and "times as fast" not in said
