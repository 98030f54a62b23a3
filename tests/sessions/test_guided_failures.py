"""Mistakes in params: the verdict of each names the mistake, and the verdict on its fix does not."""

from __future__ import annotations

import pytest

from tests.live_session import Session
from tests.support import limit
from workshop.extension import SIDES
from workshop.report.failures import failures_of


@pytest.mark.real
@pytest.mark.exhaustive
@pytest.mark.timeout(limit(600))
@pytest.mark.parametrize("workloads", [("federated",), ("parallel",)], ids=" ".join)
def test_every_guided_failure_is_named_and_its_fix_mends_it(session: Session, workloads: tuple[str, ...]) -> None:
    """Those that are run from pages; OpenFL's are run where its environment is tested."""
    submitted = [
        (failure, [session.submit(failure.workload, failure.broken, **failure.params_of(side)) for side in SIDES])
        for failure in failures_of(*workloads)
    ]
    assert len(submitted) >= 3
    for failure, runs in submitted:
        broken, fixed = (session.wait(run, 150) for run in runs)
        assert (broken.status, fixed.status) == ("completed", "completed"), (failure.name, broken.error, fixed.error)
        wrong, right = (f"{run.verdict['verdict']} {run.verdict['why']}" for run in (broken, fixed))
        assert failure.verdict in wrong and failure.verdict not in right, failure.name
        assert failure.mended in right, failure.name
