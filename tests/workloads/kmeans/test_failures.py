"""The guided failures of placements that k-means shows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from tests.report.test_failures import HOSTS, said
from workshop.extension import Failure
from workshop.workloads.kmeans.failures import failures


def failure(name: str, mpis: Collection[str] = ()) -> Failure:
    return next(one for one in failures(2, HOSTS, mpis) if one.name == name)


@pytest.mark.real
def test_too_many_threads_are_named() -> None:
    one = failure("too-many-threads")
    assert said(one, one.broken) == "Oversubscribed: 4 ranks × 4 threads on 2 cores."
    compiled = replace(one, params={**one.params, "backend": "numba"})
    assert said(compiled, one.broken) == "Oversubscribed: 4 ranks × 4 threads on 2 cores.", "which has threads, too"


def test_a_stale_hosts_file_names_a_host_too_many() -> None:
    one = failure("stale-hosts")
    assert set(one.fixed.hosts) == set(HOSTS)
    assert len(one.broken.hosts) == 4 and one.broken.hosts[-1].name in one.look_for


def test_mpich_polls_by_nature() -> None:
    assert failure("polling", mpis=["openmpi", "mpich"]).broken.mpi == "mpich"
    assert failure("polling").broken.environment == {"OMPI_MCA_mpi_yield_when_idle": "0"}
