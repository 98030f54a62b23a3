"""A run that takes too much memory fails with a sentence, and the session goes on."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.control_groups import control_group, join
from tests.live_session import Session
from tests.notebook.sessions import running
from tests.support import limit, until
from workshop.core import processes
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.sessions import lifecycle
from workshop.store.store import Store
from workshop.study import runner
from workshop.study.kinds import report
from workshop.study.scaling.plan import plan

pytestmark = pytest.mark.real
MIB = 2**20


@pytest.fixture
def limited(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.setenv("WORKSHOP_MEMORY", "400M")
    with Store.open() as store, running(store, "limited") as record:
        yield Session(store, record, home)


def test_a_limit_of_ones_own(limited: Session) -> None:
    session = limited
    conductor = session.now.conductor_pid
    for rank in session.now.rank_map["ranks"]:
        assert Path(f"/proc/{rank['pid']}/oom_score_adj").read_text() == "1000\n", "the kernel's first choice"
    assert Path(f"/proc/{conductor}/oom_score_adj").read_text() != "1000\n"

    made = session.segments()
    assert made, "ranks of one host share memory"
    ended = session.run("fill", rank=1, batch=8, epochs=1000, every=0.05)
    assert (ended.status, ended.error["type"], ended.error["rank"]) == ("failed", "OutOfMemory", 1), ended.error
    message = ended.error["message"]
    assert message.startswith("the ranks took more memory than WORKSHOP_MEMORY allows: rank 1 had most, ")
    assert "and all 2 together" in message and "of 400 MiB; take fewer ranks, a smaller batch" in message
    most = session.store.totals(ended.id)["value"]
    assert 8 < most[1][0] < 60, "steps of 8 MiB, until 400 MiB were full"
    assert ended.verdict["verdict"] == "Out of memory."
    assert ended.verdict["why"].startswith("The ranks took more memory than WORKSHOP_MEMORY allows: rank 1 had most")
    assert ended.verdict["next"].startswith("Start it again on 1 rank (--ranks 1) or with half the batch (--batch 4)")
    following = session.run("fill", epochs=2)
    assert following.status == "completed", following.error
    assert not any(segment.exists() for segment in made), "shared memory of the dead is removed"
    assert session.now.conductor_pid == conductor


@pytest.mark.exhaustive
def test_what_a_library_refuses_is_the_same_to_whoever_reads_it(session: Session) -> None:
    for how, says in (
        ("numpy", " (Unable to allocate 2.00 PiB for an array"),
        ("tensorflow", " (a tensor of shape [4194304,4194304] and type float); take fewer"),
        ("c++", "; take fewer ranks"),
    ):
        refused = session.wait(session.submit("fill", how=how), 120)
        assert (refused.status, refused.error["type"], refused.error["rank"]) == ("failed", "OutOfMemory", 1), how
        assert f"rank 1 could not get the memory that it asked for{says}" in refused.error["message"]
        assert refused.verdict["verdict"] == "Out of memory."


@pytest.mark.exhaustive
def test_it_is_a_failed_trial_of_a_study_that_goes_on(limited: Session) -> None:
    session, store = limited, limited.store
    wanted = plan(workload("fill"), {"batch": 8, "epochs": 12}, [1, 2, 4], Placement(), repeats=1)
    trials = [*wanted.trials()]
    trials[1].params["batch"] = 200  # the second one takes too much
    study = store.create_study("scaling", "fill", wanted.description(), trials)
    with runner.working_on(store, study.id) as me:
        done = runner.run_study(store, study.id, me, session.now)
    assert (done.state, done.trials, done.done, done.failed) == ("completed", 3, 3, 1)
    told = report(store, store.study(study.id)).as_json()
    assert [trial["status"] for trial in told["trials"]] == ["completed", "failed", "completed"]
    assert told["trials"][1]["error"]["type"] == "OutOfMemory"
    assert "than WORKSHOP_MEMORY allows: rank " in told["trials"][1]["error"]["message"]
    assert [row["throughput"] for row in told["rows"]] == [100.0, None, 400.0]


def test_a_limit_that_is_no_size_is_said_before_anything_starts(
    workshop_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKSHOP_MEMORY", "plenty")
    with Store.open() as store:
        with pytest.raises(BadInput, match="WORKSHOP_MEMORY is 'plenty'; it should be a size like 6G"):
            lifecycle.start_session(store, "test", Placement())
        assert store.sessions() == []


def test_a_control_group_that_is_full(workshop_home: Path, probe_workloads: None) -> None:
    """As in a container: whether we or the kernel end them first, ranks are ended and nobody else."""
    with Store.open() as store, control_group(900 * MIB) as folder:
        record, conductor = lifecycle.start_session(store, "test", Placement(ranks=2))
        join(folder, conductor.pid)
        session = Session(store, lifecycle.wait_ready(store, record, conductor), workshop_home)
        try:
            before = {process.pid for process in psutil.Process(conductor.pid).children(recursive=True)}
            ranks = {rank["pid"] for rank in session.now.rank_map["ranks"]}
            for batch in (16, 600):  # little by little, and all at once
                ended = session.run("fill", batch=batch, epochs=100)
                assert (ended.status, ended.error["type"]) == ("failed", "OutOfMemory"), ended.error
                assert ended.error["rank"] in (0, 1) and "take fewer ranks" in ended.error["message"]
                assert conductor.poll() is None
            assert before - ranks, "the controller"

            # Nobody looks: the kernel ends the rank that has most, and that is told.
            run = session.submit("fill", rank=1, batch=8, epochs=1000, every=0.05)
            until(
                lambda: session.store.totals(run.id).get("value", {}).get(1, (0, 0))[0] > 15, 30, "120 MiB to be full"
            )
            time.sleep(0.5)  # until the next look
            rank = psutil.Process(session.store.run(run.id).rank_map["ranks"][1]["pid"])
            os.kill(conductor.pid, signal.SIGSTOP)
            try:
                until(lambda: not processes.alive(rank), 10, "the kernel to end it")
            finally:
                os.kill(conductor.pid, signal.SIGCONT)
            ended = session.wait(run)
            assert (ended.status, ended.error["type"]) == ("failed", "OutOfMemory"), ended.error
            # Where the first one's memory isn't free at once, it ends the other one, too; mpirun names one of them.
            first = ended.error["rank"]
            assert first in (0, 1)
            told = f"ended rank {first} for want of memory: when last looked at, rank 1 had most, "
            assert told in ended.error["message"]
            assert session.run("fill", epochs=2).status == "completed"
        finally:
            lifecycle.stop_session(store, "test")
            conductor.wait(limit(10))
