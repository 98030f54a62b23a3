"""The k-means bench, short but real: all contenders on the same points, with and without its peers installed."""

from __future__ import annotations

import numpy as np
import pytest

from tests import mpis
from workshop.bench import peers
from workshop.core.errors import WorkshopError
from workshop.workloads.kmeans import bench, bench_rank

pytestmark = pytest.mark.real


@pytest.mark.exhaustive
def test_missing_peers_are_told_with_the_command_that_installs_them(workshop_home):
    document = bench.run(repeats=1, clusters=[10])
    rows = {row["name"]: row for row in document["rows"]}
    for name in set(bench.PEERS) - {"sklearn"}:
        assert rows[f"{name}_k10"]["value"] is None
        assert "is not installed; `workshop bench peers` does." in rows[f"{name}_k10"]["note"]
    assert rows["ours_k10"]["iterations"] == 20
    assert rows["ours_k10"]["value"] > 0
    converged = rows["ours_converged_k10"], rows["sklearn_converged_k10"]
    assert converged[0]["iterations"] == pytest.approx(converged[1]["iterations"], abs=1)
    assert converged[0]["inertia"] == pytest.approx(converged[1]["inertia"], rel=1e-4)
    assert set(document["ratios"]) == {"sklearn_k10", "sklearn_converged_k10", "sklearn_elkan_converged_k10"}


@pytest.mark.timeout(400)
def test_all_contenders_agree(workshop_home):
    mpis.use(workshop_home, "mpich", "daal4py", *peers.PACKAGES)
    peers.install()
    turns = []
    document = bench.run(repeats=1, clusters=[10], progress=lambda done, total: turns.append((done, total)))
    rows = {row["name"]: row for row in document["rows"]}
    converged = [f"{name}_converged_k10" for name in bench.CONVERGE]
    assert set(rows) == {*(f"{name}_k10" for name in ("ours", *bench.PEERS)), *converged}
    absent = {name: row["note"] for name, row in rows.items() if row["value"] is None}
    assert set(absent) <= {"fastkmeans_k10"} and all("needs PyTorch" in note for note in absent.values())
    assert turns[-1] == (2 * len(converged),) * 2, "of those that go on until convergence"
    ours = rows["ours_k10"]
    for name in bench.PEERS:
        peer = rows[f"{name}_k10"]
        if peer["name"] in absent:
            assert f"{name}_k10" not in document["ratios"]
            continue
        assert peer["iterations"] == ours["iterations"] == 20
        assert peer["inertia"] == pytest.approx(ours["inertia"], rel=1e-4)
        assert document["ratios"][f"{name}_k10"] == pytest.approx(peer["value"] / ours["value"])
    assert document["machine"]["versions"]["numba"]


def test_fastkmeans_takes_part_where_pytorch_is(workshop_home, tmp_path, monkeypatch):
    mpis.use(workshop_home, "fastkmeans")
    monkeypatch.setattr("sys.path", [])
    contender = peers.contenders("module", ["fastkmeans"])["fastkmeans"]
    assert contender.note.startswith("fastkmeans needs PyTorch") and not contender.command
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").touch()
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    contender = peers.contenders("module", ["fastkmeans"])["fastkmeans"]
    assert contender.command[-2:] == ["module", "fastkmeans"] and not contender.note
    assert str(workshop_home) in contender.environment["PYTHONPATH"]


def test_points_in_another_order_have_the_start_at_its_places():
    points = np.arange(40, dtype=np.float32).reshape(20, 2)
    numbers, places = np.array([3, 19, 0]), np.array([19, 5, 3])
    placed = bench_rank.place(points, numbers, places)
    np.testing.assert_array_equal(placed[places], points[numbers])
    np.testing.assert_array_equal(np.sort(placed[:, 0]), points[:, 0])
    np.testing.assert_array_equal(placed[:, 1], placed[:, 0] + 1)


def test_contenders_that_disagree_are_no_comparison():
    start = bench_rank.start(10).tolist()
    moved = [[value + 1 for value in centroid] for centroid in start]
    with pytest.raises(WorkshopError, match="don't agree on the result for k = 10"):
        bench.agreed_inertia(10, {"ours": {"centroids": start}, "sklearn": {"centroids": moved}})
