"""What real federations with OpenFL are said to have come to, and each of those that went wrong on purpose."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.report.analysis import cases
from tests.support import limit
from workshop.report.failures import failures_of
from workshop.report.verdict import verdict

pytestmark = [pytest.mark.real, pytest.mark.timeout(limit(600))]
FAILURES = failures_of("openfl")


def said(told: dict[str, Any], fault: str) -> dict[str, str]:
    now = time.time()  # what has expired is a matter of when
    run = cases.run(workload="openfl", params={"fault": fault}, metrics=told["metrics"], queued_at=now)
    return verdict(run, {})


def test_one_in_which_all_is_well(federations: dict[str, Any]) -> None:
    told = said(federations["none"], "none")
    assert told["verdict"].startswith("3 institutions learned one model over mutual TLS: ")
    assert "4 certificates of one authority" in told["why"]
    assert not [one.name for one in FAILURES if one.verdict in told["verdict"]]


@pytest.mark.exhaustive
@pytest.mark.parametrize("failure", FAILURES, ids=lambda one: one.name)
def test_the_verdict_names_what_went_wrong(faults: dict[str, Any], failure: Any) -> None:
    fault = failure.broken_params["fault"]
    told = said(faults[fault], fault)
    assert failure.verdict in told["verdict"], told
    assert told["next"] == failure.fix
