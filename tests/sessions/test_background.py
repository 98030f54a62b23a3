"""Runs in sessions of their own, which go on without whoever began them and end with their run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import leftovers
from tests.support import limit, until
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.sessions import client, lifecycle
from workshop.store.store import Store

pytestmark = pytest.mark.real
HERE = Placement(ranks=2)
BEGUN = """
from workshop.core.placement import Placement
from workshop.sessions import lifecycle
from workshop.store.store import Store
run = lifecycle.begin_run(Store.open(), "test", "tell", {"events": 100, "every": 0.05}, Placement(ranks=2), 5)
print(run.id, run.status, flush=True)
"""


def test_a_session_ends_with_its_run_and_not_before(store: Store, workshop_home: Path, probe_workloads: None) -> None:
    begun = subprocess.run([sys.executable, "-c", BEGUN], capture_output=True, text=True, timeout=limit(120))
    assert begun.returncode == 0, begun.stderr
    run = store.run(int(begun.stdout.split()[0]))
    assert not run.ended, "whoever began it has ended before"
    session = store.session(run.session_id)
    assert session.private
    assert session.name.startswith("test-")
    ended = client.wait(store, run.id, timeout=limit(30))
    assert (ended.status, ended.metrics["told"]) == ("completed", 200)
    until(lambda: store.session(session.id).state == "stopped", 30, "the session to end by itself")
    until(lambda: not leftovers(workshop_home), 30, "its processes to end")


def test_a_run_is_ended_when_asked_and_when_it_takes_too_long(
    store: Store, workshop_home: Path, probe_workloads: None
) -> None:
    deaf = {"events": 1000, "every": 0.1, "obedient": False}
    run = lifecycle.begin_run(store, "test", "tell", deaf, HERE, minutes=5)
    until(lambda: store.totals(run.id).get("value"), 30, "the run to tell something")
    client.cancel(store, run.id)
    ended = client.wait(store, run.id, timeout=limit(30))
    assert (ended.status, ended.error) == ("cancelled", None)
    until(lambda: not leftovers(workshop_home), 60, "its session's processes to end")

    endless = {"events": 1000, "every": 0.1}
    run = lifecycle.begin_run(store, "test", "tell", endless, HERE, minutes=0.02)
    late = client.wait(store, run.id, timeout=limit(30))
    assert late.status == "failed"
    assert late.error["type"] == "TimeLimit"
    assert "longer than the 0.02 minutes" in late.error["message"]
    until(lambda: not leftovers(workshop_home), 60, "its session's processes to end")


def test_what_can_not_be_starts_nothing(store: Store, workshop_home: Path, probe_workloads: None) -> None:
    for name, values, wrong in (("tell", {"events": -1}, "events is -1"), ("nothing", {}, "no workload 'nothing'")):
        with pytest.raises(BadInput, match=wrong):
            lifecycle.begin_run(store, "test", name, values, HERE, 5)
    assert store.sessions() == []

    homeless = Placement(ranks=1, environment={"PYTHONHOME": "/nowhere"})
    with pytest.raises(WorkshopError, match="did not start"):
        lifecycle.begin_run(store, "test", "tell", {}, homeless, 5)
    (run,) = store.runs()
    assert run.status == "cancelled"
    assert not leftovers(workshop_home)
