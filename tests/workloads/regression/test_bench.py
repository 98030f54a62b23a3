"""The regression bench, short but real: all contenders on the same rows."""

from __future__ import annotations

import pytest

from tests import mpis
from workshop.bench import peers
from workshop.core.errors import WorkshopError
from workshop.workloads.regression import bench

SHAPE = (20_000, 5)


@pytest.mark.real
@pytest.mark.exhaustive
def test_missing_peers_are_told_with_the_command_that_installs_them(workshop_home):
    document = bench.run(repeats=1, shapes=[SHAPE])
    rows = {row["name"]: row for row in document["rows"]}
    for name in ("daal4py_distributed_f5", "daal4py_threads_f5"):
        assert rows[name]["value"] is None and "`workshop bench peers`" in rows[name]["note"]
    assert set(document["ratios"]) == {"own_vs_sklearn_f5", "own_vs_sklearn"}


@pytest.mark.real
@pytest.mark.timeout(400)
def test_all_contenders_agree(workshop_home):
    mpis.use(workshop_home, "mpich", "daal4py")
    turns = []
    document = bench.run(repeats=1, shapes=[SHAPE], progress=lambda done, total: turns.append((done, total)))
    assert turns[-1] == (8, 8)
    rows = {row["name"]: row for row in document["rows"]}
    assert list(rows) == [f"{name}_f5" for name in ("ours", *peers.PEERS)]
    assert all(row["difference"] < bench.AGREE for row in rows.values())
    for name, ratio in bench.RATIOS.items():
        expected = pytest.approx(rows[f"{name}_f5"]["value"] / rows["ours_f5"]["value"])
        assert document["ratios"][f"{ratio}_f5"] == document["ratios"][ratio] == expected


def test_contenders_that_disagree_are_no_comparison():
    with pytest.raises(WorkshopError, match=r"those of sklearn differ by 0\.5 from ours"):
        bench.agreement({"ours": {"coefficients": [2.0, 1.0]}, "sklearn": {"coefficients": [2.0, 2.0]}})
