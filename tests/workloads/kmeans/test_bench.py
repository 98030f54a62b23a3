"""The k-means bench, short but real: all contenders on the same points, with and without its peers installed."""

from __future__ import annotations

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
    for name in ("daal4py_distributed_k10", "daal4py_threads_k10"):
        assert rows[name]["value"] is None
        assert "`workshop bench peers`" in rows[name]["note"]
    assert rows["ours_k10"]["iterations"] == 20
    assert rows["ours_k10"]["value"] > 0
    converged = rows["ours_converged_k10"], rows["sklearn_converged_k10"]
    assert converged[0]["iterations"] == pytest.approx(converged[1]["iterations"], abs=1)
    assert converged[0]["inertia"] == pytest.approx(converged[1]["inertia"], rel=1e-4)
    assert set(document["ratios"]) == {"sklearn_k10", "sklearn_converged_k10"}


@pytest.mark.timeout(400)
def test_all_contenders_agree(workshop_home):
    mpis.use(workshop_home, "mpich", "daal4py")
    peers.install()
    turns = []
    document = bench.run(repeats=1, clusters=[10], progress=lambda done, total: turns.append((done, total)))
    assert turns[-1] == (4, 4)  # of those that go on until convergence
    rows = {row["name"]: row for row in document["rows"]}
    converged = [f"{name}_converged_k10" for name in bench.CONVERGE]
    assert list(rows) == [*(f"{name}_k10" for name in ("ours", *bench.PEERS)), *converged]
    ours = rows["ours_k10"]
    for name in bench.PEERS:
        peer = rows[f"{name}_k10"]
        assert peer["iterations"] == ours["iterations"] == 20
        assert peer["inertia"] == pytest.approx(ours["inertia"], rel=1e-4)
        assert document["ratios"][f"{name}_k10"] == pytest.approx(peer["value"] / ours["value"])
    assert document["machine"]["versions"]["numba"]


def test_contenders_that_disagree_are_no_comparison():
    start = bench_rank.start(10).tolist()
    moved = [[value + 1 for value in centroid] for centroid in start]
    with pytest.raises(WorkshopError, match="don't agree on the result for k = 10"):
        bench.agreed_inertia(10, {"ours": {"centroids": start}, "sklearn": {"centroids": moved}})
