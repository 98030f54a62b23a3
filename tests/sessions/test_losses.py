"""Sessions whose runs go on without lost ranks, take new ones in, or begin again."""

from __future__ import annotations

import os
import signal

import pytest

from tests.support import until
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.mpi import openmpi
from workshop.sessions import client

pytestmark = pytest.mark.real
THREE = Placement(ranks=3, oversubscribe=True, bind_to="none")
SMALL = {"data": "digits", "images": 400, "model": "dense", "batch": 16, "pace": 0.02}


def test_a_rank_that_is_killed_from_outside_is_not_waited_for(session):
    run = session.submit("elastic", THREE, **SMALL, epochs=12)
    until(lambda: session.store.last_event_id(run.id), 90, "the first steps")
    with pytest.raises(BadInput, match="has no rank 3; its ranks are 0 to 2"):
        client.kill_rank(session.store, run.id, 3)
    client.kill_rank(session.store, run.id, 0)
    ended = session.wait(run, 90)
    assert ended.status == "completed", ended.error
    (loss,) = ended.metrics["losses"]
    assert loss["rank"] == 0 and loss["ranks"] == [1, 2]
    updates = ended.metrics["updates"]
    assert ended.progress == (updates, updates), "another rank tells the progress"
    assert ended.metrics["exactly_once"] and ended.metrics["same_weights"]
    assert session.store.missing_batches(run.id, 1_000_000) == {}
    assert "Rank 0 was lost" in ended.verdict["verdict"]
    with pytest.raises(BadInput, match="is completed; only a run whose ranks compute can lose a rank"):
        client.kill_rank(session.store, run.id, 1)


def test_a_new_rank_takes_the_place_of_a_lost_one(session):
    run = session.submit("elastic", THREE, **SMALL | {"pace": 0.05}, epochs=60, on_failure="grow", kill="2@step:5")
    until(lambda: "joins" in session.store.run(run.id).metrics, 120, "a new rank")
    client.cancel(session.store, run.id)
    ended = session.wait(run, 90)
    assert ended.status == "cancelled"
    assert ended.metrics["ranks"] == [0, 1, 2] and ended.metrics["same_weights"]
    steps = [series for series in session.store.series(run.id, "images") if series.rank == 2]
    assert steps and max(steps[0].steps) > 5, "the new rank tells events under the lost one's number"


def test_a_run_begins_again_at_its_checkpoint(session):
    run = session.submit(
        "elastic", THREE, **SMALL, epochs=8, on_failure="restart", kill="1@step:45", checkpoint_every=5
    )
    ended = session.wait(run, 120)
    assert ended.status == "completed", ended.error
    assert any("the run began again on new ranks" in notice for notice in ended.notices)
    assert ended.metrics["losses"][0]["rank"] == 1 and ended.metrics["updates"] == 72
    assert session.store.missing_batches(run.id, 1_000_000) == {}


def test_a_run_says_when_it_has_begun_again_as_often_as_it_may(session):
    ended = session.wait(session.submit("break", THREE, how="kill", restarts=2), 120)
    assert (ended.status, ended.error["type"], ended.error["rank"]) == ("failed", "RankDied", 1)
    *restarts, last = ended.notices
    assert len(restarts) == 2 and all("the run began again on new ranks" in notice for notice in restarts)
    assert last == "The run has begun again 2 times, which is as often as it may, so it ended here."


def test_a_run_that_stops_at_a_loss_fails_as_ever(session):
    run = session.submit("elastic", THREE, **SMALL, epochs=12, on_failure="stop")
    until(lambda: session.store.last_event_id(run.id), 90, "the first steps")
    os.kill(session.now.rank_map["ranks"][1]["pid"], signal.SIGKILL)
    ended = session.wait(run, 90)
    assert (ended.status, ended.error["type"]) == ("failed", "RankDied")


def test_an_mpi_that_ends_all_ranks_is_refused_before(session, monkeypatch):
    monkeypatch.delattr(openmpi, "tolerance")
    with pytest.raises(BadInput, match="goes on when ranks are lost, but Open MPI ends all ranks when it loses one"):
        session.submit("elastic", THREE, **SMALL)
