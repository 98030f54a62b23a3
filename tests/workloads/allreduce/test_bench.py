"""The all-reduce bench, short but real: on every MPI that can be had, and with one that isn't there."""

from __future__ import annotations

import pytest

from tests import mpis
from workshop.core.errors import BadInput
from workshop.workloads.allreduce import WORKLOAD, bench

SMALL = WORKLOAD.check({"largest": 4096, "repeats": 3, "methods": "own,ring"})


@pytest.mark.real
def test_all_mpis_in_one_run(workshop_home):
    mpis.use(workshop_home, "mpich", "intelmpi")
    turns = []
    document = bench.run(repeats=1, params=SMALL, progress=lambda done, total: turns.append((done, total)))
    assert turns[-1] == (14, 14)
    rows = {row["name"]: row for row in document["rows"]}
    assert len(rows) == 3 * 2 * 6 + 1
    for name in bench.MPIS:
        row = rows[f"{name}_ring_4096B"]
        assert (row["mpi"], row["method"], row["bytes"], row["unit"]) == (name, "ring", 4096, "s")
        assert row["algorithm_bandwidth"] == pytest.approx(4096 / row["value"])
        assert row["bus_bandwidth"] == pytest.approx(row["algorithm_bandwidth"])  # 2 (n - 1) / n of two ranks
        own = rows[f"{name}_own_4096B"]["value"]
        assert document["ratios"][f"ring_vs_own_{name}"] == pytest.approx(own / row["value"])
    assert {"mpich_vs_openmpi", "intelmpi_vs_openmpi_latency", "openmpi_vs_memory"} <= document["ratios"].keys()
    assert rows["memory_bandwidth"]["value"] > 1e8
    assert {"openmpi", "mpich", "intelmpi"} <= document["machine"]["versions"].keys()
    found = bench.curves(document["rows"])
    assert [(curve.mpi, curve.method) for curve in found[:3]] == [
        ("openmpi", "own"),
        ("openmpi", "ring"),
        ("mpich", "own"),
    ]
    heading, *lines = bench.overview(document)
    assert heading[2:4] == ["4 B", "4 KiB"] and len(lines) == 6


@pytest.mark.real
def test_what_is_missing_is_a_row_that_says_so(workshop_home):
    document = bench.run(("openmpi", "mpich"), repeats=1, params=SMALL)
    (absent,) = [row for row in document["rows"] if row["value"] is None]
    assert absent["name"] == "mpich"
    assert "`workshop mpi install mpich`" in absent["note"]
    assert not any(name.startswith("mpich") for name in document["ratios"])


def test_a_method_that_can_not_be_had_is_one_row():
    (row,) = bench._rows("mpich", "horovod", [4, 8], 2, [{"ranks": 2, "obstacle": "it is built with Open MPI"}])
    assert (row["name"], row["value"], row["note"]) == ("mpich_horovod", None, "It is built with Open MPI.")


def test_names_of_mpis():
    assert bench.read_mpis("impi, openmpi,intelmpi") == ("intelmpi", "openmpi")
    for text in ("lam", "", "openmpi,lam"):
        with pytest.raises(BadInput, match="there are openmpi, mpich, intelmpi"):
            bench.read_mpis(text)
