"""The bench of collectives, short but real, on every MPI that can be had."""

from __future__ import annotations

import pytest

from tests import mpis
from workshop.workloads.collectives import WORKLOAD, bench


@pytest.mark.real
def test_mpis_side_by_side(workshop_home):
    mpis.use(workshop_home, "mpich")
    params = WORKLOAD.check({"operation": "allreduce", "largest": 16, "iterations": 10})
    document = bench.run(("openmpi", "mpich", "intelmpi"), 2, 1, params)
    rows = {row["name"]: row for row in document["rows"]}
    assert rows["intelmpi"]["note"].endswith("`workshop mpi install intelmpi` does that.")
    assert rows["mpich_algorithms"]["note"].startswith("MPICH doesn't say which algorithm it chose")
    assert "recursive_doubling" in rows["openmpi_allreduce_4B"]["algorithms"]
    assert "algorithms" not in rows["mpich_allreduce_4B"]
    both = [rows[f"{name}_allreduce_16B"]["value"] for name in ("openmpi", "mpich")]
    assert document["ratios"] == {"mpich_vs_openmpi_allreduce": pytest.approx(both[0] / both[1])}
    (heading, *lines), tables = bench.overview(document)
    assert [line[:2] for line in lines] == [["openmpi", "allreduce"], ["mpich", "allreduce"]]
    assert len(heading) == len(lines[0]) and tables.count("# Size") == 2
