"""A scaling study of real training."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import need
from workshop.core.placement import Placement
from workshop.core.topology import allowed_cores, machine
from workshop.registry import workload
from workshop.runtime import lifecycle
from workshop.store.store import Store
from workshop.study import runner
from workshop.study.kinds import report
from workshop.study.scaling.plan import KIND, plan

pytestmark = pytest.mark.real


@pytest.mark.exhaustive
def test_two_ranks_against_one(workshop_home: Path) -> None:
    need(allowed_cores(machine()) >= 2, "two cores")
    given = {"data": "digits", "steps": 24, "trace": 0, "checkpoint": "off"}
    wanted = plan(workload("mnist"), given, [1, 2], Placement(), repeats=1)
    with Store.open() as store:
        study = store.create_study(KIND, "mnist", wanted.description(), wanted.trials())
        with runner.working_on(store, study.id) as me, lifecycle.private_session(store, Placement(ranks=1)) as place:
            done = runner.run_study(store, study.id, me, place)
        assert (done.state, done.failed) == ("completed", 0)
        told = report(store, done).as_json()
        one, two = told["rows"]
        assert one["throughput"] > 100 and two["throughput"] > 100
        assert two["speed_up"] == pytest.approx(two["throughput"] / one["throughput"])
        for row in (one, two):
            assert sum(row["phases"].values()) == pytest.approx(1.0) and row["phases"]["compute"] > 0.05
        assert two["phases"]["communicate"] + two["phases"]["wait"] > 0.001
        assert "Each was measured once" in told["verdict"]["why"]
        runs = sorted(store.runs(study_id=study.id), key=lambda run: run.id)
        assert [run.params["batch"] * run.placement["ranks"] for run in runs] == [64, 64]
        assert [run.metrics["updates"] for run in runs] == [24, 24], "the same steps"
