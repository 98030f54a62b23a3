"""The bench of training, short but real: the workload through a session and the plain script, on the same images."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.support import need
from workshop.core.errors import WorkshopError
from workshop.core.placement import Placement
from workshop.mpi import horovod
from workshop.workloads.mnist import bench

STEPS = 20


@pytest.mark.exhaustive
@pytest.mark.real
def test_a_session_against_the_script(workshop_home: Path):
    need(horovod.built(), "Horovod")
    turns = []
    document = bench.run(
        repeats=1,
        steps=STEPS,
        names=("session", "script", "apart"),
        progress=lambda *turn: turns.append(turn),
        warm_up=0,
    )
    assert turns == [(0, 3), (1, 3), (2, 3), (3, 3)]
    rows = {row["name"]: row for row in document["rows"]}
    for name in ("session", "script", "apart"):
        assert rows[name]["value"] > 0 and rows[name]["unit"] == "images/s"
    assert rows["session"]["ranks"] == rows["script"]["ranks"] >= 2
    assert rows["session"]["exchange"] == "mpi"
    ratio = rows["session"]["value"] / rows["script"]["value"]
    assert document["ratios"]["session_vs_script"] == pytest.approx(ratio)
    assert set(document["ratios"]) == {"session_vs_script", "session_vs_apart"}
    assert rows["apart"]["exchange"] == "none"
    assert document["intervals"]["session_vs_script"] == pytest.approx([ratio, ratio])
    assert 0 < rows["telling_share"]["value"] < rows["events_share"]["value"] < 1
    for name in ("session", "script", "apart"):
        assert rows[f"beside {name}"]["value"] > 0, "whoever starts the ranks takes processor time, too"
    assert not (workshop_home / "workshop.db").exists(), "the bench is nobody's history"


def test_without_horovod_rows_say_what_helps():
    given = {"ranks": 2, "threads": 1, "images_per_second": 100.0, "beside": 0.25}
    ours = given | {"telling_share": 0.01, "reporter_share": 0.0, "exchange": "mpi"}
    results = {"session": [ours] * 3, "single": [given | {"images_per_second": 80.0}] * 3, "apart": [given] * 3}
    document = bench._document({"host": "here"}, Placement(), results, ["script", "naive"])
    rows = {row["name"]: row for row in document["rows"]}
    assert rows["script"]["value"] is None and "workshop horovod install" in rows["script"]["note"]
    assert document["ratios"] == {"session_vs_apart": 1.0, "default_vs_single": 1.25, "most_vs_single": 1.25}
    assert [row["name"] for row in document["rows"] if row.get("note") == bench.MOST] == ["most_vs_single"]
    assert rows["session"]["exchange"] == "mpi"
    assert rows["beside session"]["value"] == 0.25


def test_what_runs_beside_the_ranks_is_counted():
    began = time.process_time()
    with bench.beside(lambda: {}) as usage:
        while time.process_time() < began + 0.3:
            pass
    assert 0 < usage["beside"] <= os.cpu_count() * 1.05, "in cores"
    with bench.beside(lambda: {7: 10.0 * (time.monotonic() - began)}) as usage:
        time.sleep(0.2)
    assert usage["beside"] == 0.0, "ranks that use all that is used leave nothing"


def test_contenders_have_to_count_alike(tmp_path: Path):
    work = bench.BenchWork(tmp_path, Placement(), steps=300)
    good = {"measured_steps": 300, "weights": ["a", "a"]}
    assert work.checked(good)["threads"] == 1
    with pytest.raises(WorkshopError, match="counted 299 steps instead of 300"):
        work.checked(good | {"measured_steps": 299})
    with pytest.raises(WorkshopError, match="same weights"):
        work.checked(good | {"weights": ["a", "b"]})
    assert work.checked(good | {"weights": ["a", "b"]}, together=False)["weights"] == ["a", "b"]


def test_all_epochs_are_whole_batches(tmp_path: Path):
    import numpy as np

    work = bench.BenchWork(tmp_path, Placement(ranks=3), steps=STEPS)
    with np.load(work.data) as file:
        assert len(file["x_train"]) == len(file["y_train"]) == 3 * bench.BATCH * 11
        assert file["x_train"].shape[1:] == (28, 28)
        assert len(file["y_test"]) == 360
