"""daal4py as a back end: on MPICH and Intel MPI the same result as ours, elsewhere one sentence."""

from __future__ import annotations

import numpy as np
import pytest
from mpi4py import MPI

from tests import mpis
from workshop.core.errors import BadInput
from workshop.engine.context import RankContext
from workshop.extension import no_artifacts
from workshop.mpi import daal
from workshop.workloads.kmeans import WORKLOAD

RELATIVE = 1e-5  # of centroids and inertia; float32 sums differ in their order


@pytest.mark.real
@pytest.mark.parametrize("name", ["mpich", pytest.param("intelmpi", marks=pytest.mark.exhaustive)])
def test_the_same_result_from_the_same_start(workshop_home, name):
    found = mpis.launched(workshop_home, name, 2, "tests.workloads.kmeans.daal_program")
    assert found["ranks"] == 2
    for dtype in ("float32", "float64"):
        ours, theirs = found[f"numpy {dtype}"], found[f"daal4py {dtype}"]
        assert theirs["backend"] == "daal4py" and theirs["converged"]
        assert theirs["inertia"] == pytest.approx(ours["inertia"], rel=RELATIVE)
        np.testing.assert_allclose(theirs["centroids"], ours["centroids"], rtol=RELATIVE, atol=RELATIVE)
        assert theirs["sizes"] == ours["sizes"]
    ours, theirs = found["inertias"]
    assert len(theirs) - len(ours) in (0, 1), "labels that stay are seen one iteration earlier than centroids that do"
    np.testing.assert_allclose(theirs[: len(ours)], ours, rtol=RELATIVE)
    assert "inertia" in found["names"][0] and {"time.compute", "time.wait"} <= set(found["names"][-1])
    assert "as many points on every rank as there are clusters" in found["too few"]
    for dtype in ("float32", "float64"):
        ours, theirs = found[f"stream numba {dtype}"], found[f"stream daal4py {dtype}"]
        assert theirs["iterations"] == ours["iterations"] == 11
        assert theirs["inertia"] == pytest.approx(ours["inertia"], rel=RELATIVE)
        np.testing.assert_allclose(theirs["centroids"], ours["centroids"], rtol=RELATIVE, atol=RELATIVE)
        assert theirs["sizes"] == ours["sizes"]


def test_it_says_what_it_needs(workshop_home, monkeypatch):
    params = WORKLOAD.check({"backend": "daal4py"})
    with pytest.raises(BadInput, match="daal4py is not installed; `workshop mpi install daal4py` does that"):
        WORKLOAD.inputs(params, no_artifacts)
    monkeypatch.setattr(daal.platform, "machine", lambda: "aarch64")
    with pytest.raises(BadInput, match="daal4py runs on x86-64 alone, this is aarch64"):
        WORKLOAD.inputs(params, no_artifacts)


def test_ranks_of_open_mpi_say_which_mpi_it_needs(workshop_home):
    mpis.use(workshop_home, "daal4py")
    params = WORKLOAD.check({"data": "blobs", "points": 100, "backend": "daal4py"})
    with pytest.raises(BadInput, match="needs MPICH or Intel MPI, these ranks run under Open MPI"):
        WORKLOAD.load()(RankContext(MPI.COMM_SELF), params)


def test_what_the_tuner_has_to_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daal, "check_here", lambda instead: None)
    assert "needs MPICH or Intel MPI" in daal.missing(("openmpi",))["daal4py"]
    assert daal.missing(("openmpi", "mpich")) == {}

    def not_here(instead: str) -> None:
        raise BadInput("daal4py is not installed.")

    monkeypatch.setattr(daal, "check_here", not_here)
    assert daal.INSTALL in daal.missing(("intelmpi",))["daal4py"]
