"""One to four real MPI ranks against scikit-learn, and against each other."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ranks import by_ranks, run_ranks
from tests.support import starts_processes
from tests.workloads.kmeans.oracle import equal_up_to_ties, sklearn_fit
from tests.workloads.kmeans.ranks_program import CASES, SIZE, points_of, start_of

pytestmark = pytest.mark.real


@pytest.fixture(scope="module", params=by_ranks(1, 2, 3, 4))
@starts_processes
def found(request):
    return results(request.param)


@pytest.fixture(scope="module")
def alone():
    return results(1)


def results(ranks):
    return run_ranks("tests.workloads.kmeans.ranks_program", ranks)


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize(("backend", "dtype"), CASES)
def test_ranks_together_find_what_scikit_learn_finds(found, backend, dtype, empty):
    fitted = found["fits"][f"{backend} {dtype} {empty}"]
    points = points_of(dtype)
    model = sklearn_fit(points, start_of(points, empty), 10, 0.0)
    centroids = np.array(fitted["centroids"])
    assert fitted["alike_on_all_ranks"]
    assert fitted["iterations"] == model.n_iter_
    assert fitted["inertia"] == pytest.approx(model.inertia_, rel=1e-4)
    np.testing.assert_allclose(centroids, model.cluster_centers_, rtol=2e-5)
    assert len(fitted["labels"]) == SIZE
    assert equal_up_to_ties(points, centroids, np.array(fitted["labels"]), model.labels_, 1e-5)


def test_the_start_is_the_same_for_every_number_of_ranks(found, alone):
    for name, start in found["starts"].items():
        np.testing.assert_allclose(start, alone["starts"][name], rtol=1e-6, err_msg=name)


def test_the_workload_finds_the_same_on_every_number_of_ranks(found, alone):
    for name in ("tiny", "photo", "stream"):
        assert found[name]["inertia"] == pytest.approx(alone[name]["inertia"], rel=1e-6, abs=1e-6), name
        assert sum(found[name]["points_per_rank"]) == found[name]["points"]
        assert len(found[name]["points_per_rank"]) == found["ranks"]
        assert found[name]["sizes"] == alone[name]["sizes"]
    assert found["photo"]["palette"] == alone["photo"]["palette"]


def test_a_stop_that_one_rank_hears_of_ends_all_in_the_same_iteration(found):
    assert [(stopped, number) for stopped, number, _ in found["stopped"]] == [(True, 3)] * found["ranks"]


def test_rank_0_tells_inertia_and_every_rank_its_times(found):
    for rank, names in enumerate(found["events"]):
        assert ({"inertia", "moved"} <= set(names)) == (rank == 0)
        assert {"time.compute", "time.communicate", "time.wait"} <= set(names)
