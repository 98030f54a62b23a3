"""Training in a session: ranks with TensorFlow and Horovod, killed in the middle and gone on from."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.support import need, until
from workshop.core import config
from workshop.core.errors import BadInput
from workshop.core.forms import going_on
from workshop.core.placement import Placement
from workshop.mpi import horovod
from workshop.registry import workload
from workshop.sessions import client

pytestmark = pytest.mark.real
SMALL = {
    "exchange": "horovod",
    "data": "digits",
    "images": 400,
    "batch": 32,
    "epochs": 6,
    "model": "dense",
    "trace": 4,
    "target": 0.2,
}


def test_a_run_that_lost_a_rank_is_gone_on_from_and_ends_as_one_that_did_not(session):
    need(horovod.built(), "Horovod is not built here")
    whole = session.wait(session.submit("mnist", **SMALL), 120)
    assert whole.status == "completed", whole.error
    assert whole.metrics["exchange"] == "horovod"
    assert len(set(whole.metrics["weights"])) == 1

    paced = session.submit("mnist", **SMALL, pace=0.3)
    until(lambda: len(told(session, paced.id)) >= 2, 90, "two epochs")
    generated = list((config.session_folder(session.record.id) / config.TEMPORARY).glob("__autograph_*"))
    os.kill(session.now.rank_map["ranks"][1]["pid"], signal.SIGKILL)
    killed = session.wait(paced, 60)
    assert generated, "TensorFlow's code, which a rank that is killed leaves"
    until(lambda: not any(file.exists() for file in generated), 20, "that to be gone with the ranks")
    assert killed.status == "failed"
    assert killed.error["type"] == "RankDied"
    assert killed.metrics["exchange"] == whole.metrics["exchange"], "what was known when it began"
    assert killed.metrics["train_images"] == 400 and "loss" not in killed.metrics
    assert f"--resume {killed.id}" in killed.verdict["next"]

    # What the verdict advises needs no other option: the rest is as it was.
    earlier = client.gone_on_from(session.store, workload("mnist"), {"resume": str(killed.id)})
    again = going_on(workload("mnist").params, earlier.params) | {"resume": str(killed.id), "pace": 0}
    resumed = session.wait(session.submit("mnist", **again), 120)
    assert resumed.status == "completed", resumed.error
    assert resumed.metrics["resumed"]["epoch"] >= 1
    assert resumed.metrics["updates"] == whole.metrics["updates"]
    assert resumed.metrics["weights"] == whole.metrics["weights"]  # the same bits on the same ranks
    assert resumed.metrics["resumed"]["differs"] == []
    assert resumed.metrics["epochs_to_target"] == whole.metrics["epochs_to_target"] is not None


def told(session, run_id):
    series = session.store.series(run_id, "held-out accuracy")
    return series[0].steps if series else []


def test_what_so_many_ranks_cannot_do_is_refused_when_it_is_submitted(session):
    with pytest.raises(BadInput, match="batch is 300, but of the 400 examples a rank's share is only 200"):
        session.submit("mnist", **SMALL | {"batch": 300})
    run = session.submit("mnist", Placement(ranks=1), **SMALL | {"batch": 300, "steps": 1})
    client.cancel(session.store, run.id)


def test_bad_input_that_only_ranks_can_see_is_one_sentence(session):
    first = session.wait(session.submit("mnist", **SMALL | {"epochs": 1}), 60)
    again = SMALL | {"resume": str(first.id), "epochs": 2, "optimizer": "sgd"}
    failed = session.wait(session.submit("mnist", **again), 60)
    assert failed.status == "failed"
    assert failed.error["type"] == "BadInput"
    assert "optimizer" in failed.error["message"]
    with pytest.raises(BadInput, match=rf"Run {failed.id} \(mnist, failed\) has kept no checkpoint.npz"):
        client.submit(session.store, session.now, "mnist", SMALL | {"resume": str(failed.id)})


def test_a_run_whose_newest_checkpoint_is_damaged_is_gone_on_from_at_the_one_before(session):
    first = session.wait(session.submit("mnist", **SMALL | {"epochs": 1, "exchange": "mpi"}), 60)
    assert first.status == "completed", first.error
    newest = session.store.artifact(first.id, "checkpoint.npz")
    damaged = bytearray(newest.data)
    damaged[len(damaged) // 2] ^= 1
    former = ("checkpoint-1.npz", "checkpoint-2.npz")
    session.store.put_artifact(first.id, newest.name, newest.media_type, bytes(damaged), former)
    again = SMALL | {"epochs": 2, "exchange": "mpi", "resume": str(first.id)}
    resumed = session.wait(session.submit("mnist", **again), 60)
    assert resumed.status == "completed", resumed.error
    assert resumed.metrics["resumed"] == {"epoch": 1, "update": 7, "differs": []}
    (notice,) = resumed.notices
    assert notice.startswith(f"checkpoint.npz of run {first.id} is not a checkpoint")
    assert notice.endswith("The run goes on from the older checkpoint-1.npz, with 7 updates done.")


@pytest.mark.exhaustive
def test_an_idle_session_after_horovod_uses_no_cpu(session):
    need(horovod.built(), "Horovod is not built here")
    done = session.wait(session.submit("mnist", **SMALL | {"epochs": 1}), 120)
    assert done.status == "completed", done.error
    pids = [rank["pid"] for rank in session.now.rank_map["ranks"]]
    before, began = [ticks(pid) for pid in pids], time.monotonic()
    time.sleep(2)
    passed = time.monotonic() - began
    used = [(now - then) / os.sysconf("SC_CLK_TCK") for now, then in zip(map(ticks, pids), before, strict=True)]
    assert max(used) < 0.1 * passed  # Horovod's thread alone would look for work a thousand times a second


def ticks(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
