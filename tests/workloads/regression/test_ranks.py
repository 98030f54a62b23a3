"""One to three real MPI ranks, and daal4py on MPICH, against scikit-learn and against each other."""

from __future__ import annotations

import numpy as np
import pytest

from tests import mpis
from tests.ranks import by_ranks, run_ranks
from tests.support import starts_processes
from tests.workloads.regression.oracle import AGREE, CASES, SIZE, difference, rows_of, sklearn_coefficients

pytestmark = pytest.mark.real


@pytest.fixture(scope="module", params=by_ranks(1, 2, 3))
@starts_processes
def results(request):
    return run_ranks("tests.workloads.regression.ranks_program", request.param)


@pytest.mark.parametrize("mode", ["", " streaming"])
@pytest.mark.parametrize("name", CASES)
def test_ranks_together_fit_what_scikit_learn_fits(results, name, mode):
    fitted = results["fits"][name + mode]
    case = CASES[name]
    features, targets = rows_of(**case)
    expected = sklearn_coefficients(features, targets, case["penalty"])
    assert fitted["alike_on_all_ranks"] and fitted["rows"] == SIZE
    assert difference(fitted["coefficients"], expected) < AGREE
    predicted = features @ np.array(fitted["coefficients"][:-1]) + fitted["coefficients"][-1]
    assert fitted["r2"] == pytest.approx(1 - np.var(targets - predicted) / np.var(targets), abs=1e-6)


def test_messages_have_the_size_of_the_features_alone(results):
    for name in ("few", "few streaming"):
        exchanged = results["fits"][name]["bytes_exchanged"]
        assert exchanged == 8 * (7 + 7 * 8 // 2), "a pivot, and the upper triangle of the products"


@pytest.mark.parametrize("name", ["singular", "nearly singular"])
def test_dependent_features_are_refused_alike_on_all_ranks(results, name):
    errors = results["errors"][name]
    assert len(errors) == results["ranks"] and len(set(errors)) == 1
    assert "The matrix is singular: feature 4 depends on the other features" in errors[0]
    assert errors[0].endswith(".") and "\n" not in errors[0]


def test_the_workload_fits_the_same_on_every_number_of_ranks(results):
    alone = run_ranks("tests.workloads.regression.ranks_program", 1)["runs"]
    for name, metrics in results["runs"].items():
        np.testing.assert_allclose(metrics["coefficients"], alone[name]["coefficients"], rtol=AGREE, err_msg=name)
        assert metrics["difference"] < AGREE, name
        assert metrics["rows_per_second"] > 0 and not metrics["stopped"]
        assert {"generate", "fit", "exchange", "verify"} == metrics["seconds"].keys()
    assert results["runs"]["batch"]["bytes_data"] == 4000 * 7 * 8


def test_rank_0_tells_the_rate_and_every_rank_its_times(results):
    for rank, names in enumerate(results["events"]):
        assert ("total rows/s" in names) == (rank == 0)
        assert {"time.compute", "time.communicate", "time.wait"} <= set(names)


@pytest.mark.real
def test_daal4py_fits_what_scikit_learn_fits(workshop_home):
    results = mpis.launched(workshop_home, "mpich", 2, "tests.workloads.regression.daal_program")
    for name in ("linear", "ridge"):
        assert results[name]["backend"] == "daal4py" and results[name]["rows"] == 5003
        assert results[name]["difference"] < AGREE and 0.9 < results[name]["r2"] <= 1
