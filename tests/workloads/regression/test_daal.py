"""daal4py as a back end on MPICH: the coefficients of scikit-learn."""

from __future__ import annotations

import pytest

from tests import mpis
from tests.workloads.regression.oracle import AGREE


@pytest.mark.real
def test_daal4py_fits_what_scikit_learn_fits(workshop_home):
    results = mpis.launched(workshop_home, "mpich", 2, "tests.workloads.regression.daal_program")
    for name in ("linear", "ridge"):
        assert results[name]["backend"] == "daal4py" and results[name]["rows"] == 5003
        assert results[name]["difference"] < AGREE and 0.9 < results[name]["r2"] <= 1
    assert "daal4py needs a row on every rank, and some have none" in results["few"]
