"""What a run's page shows of its processes, of its time, and of what it made up."""

from __future__ import annotations

import json

import pytest

from tests.report.test_panels import part, shown, text
from tests.web import seed, training
from workshop.report.panels import GENERAL
from workshop.report.snapshot import Snapshot
from workshop.store.records import SessionRecord
from workshop.store.store import Store


def test_threads_against_cores(store: Store, session: SessionRecord) -> None:
    card = shown(store, training.completed(store, session))["threads"]
    assert "2 threads worked: 2 TensorFlow inter-op." in text(card)
    drawn = part(card, "figure")["figure"]
    assert [trace.name for trace in drawn.data][-1] == "its cores"
    rows = {row[0]: row[1:] for row in part(card, "table")["rows"]}
    assert rows["TensorFlow inter-op"] == ["2", "2", "14.2 s", "284 ms"]
    assert rows["ZeroMQ"][:2] == ["12", "0"]
    assert "OMP_NUM_THREADS" not in text(card)


@pytest.mark.real
def test_an_openmp_variable_is_explained(store: Store, session: SessionRecord) -> None:
    placed = seed.PLACEMENT | {"environment": {"KMP_BLOCKTIME": "0"}}
    run = store.submit(session.id, "mnist", training.PARAMS, placed)
    assert store.take_next(session.id) is not None
    store.set_run(run.id, rank_map=session.rank_map, machine=session.machine)
    store.finish(run.id, "completed", metrics=training.metrics())
    assert "KMP_BLOCKTIME is for OpenMP libraries" in text(shown(store, run)["threads"])


def test_memory_over_time_from_the_second_time_on(store: Store, session: SessionRecord) -> None:
    run = training.running(store, session, epochs=1)
    assert "memory" not in shown(store, run)
    training.tell(store, run.id, 2)
    drawn = part(shown(store, run)["memory"], "figure")["figure"]
    first, second = drawn.data
    assert (len(first.x), len(second.x)) == (2, 2)
    assert list(first.y) == [612.0, 612.0] and list(second.y) == [615.0, 615.0]
    assert first.x[1] > first.x[0] > 0, "seconds since the run's first event"
    assert drawn.layout.yaxis.range[0] == 0


def test_the_memory_card_is_made_anew_when_more_is_told(store: Store, session: SessionRecord) -> None:
    run = training.running(store, session, epochs=2)
    (panel,) = (panel for panel in GENERAL if panel.name == "memory")
    before = panel.version(Snapshot(store, store.run(run.id)))
    assert before == panel.version(Snapshot(store, store.run(run.id)))
    training.tell(store, run.id, 3)
    assert before != panel.version(Snapshot(store, store.run(run.id)))


def test_what_the_time_went_into_once_it_is_over(store: Store, session: SessionRecord) -> None:
    assert "spent" not in shown(store, training.running(store, session))
    card = shown(store, training.completed(store, session))["spent"]
    (ring,) = part(card, "figure")["figure"].data
    assert list(ring.labels)[:4] == ["training", "wait", "evaluation", "preparation"]
    assert "evaluation took 6 %" in text(card), "0.51 s of 8.1 s; 1.2 s of the training compiled"


def test_generated_digits(store: Store, session: SessionRecord) -> None:
    run = training.running(store, session, epochs=1, workload="sgan")
    assert "generated" not in shown(store, run)
    made = [{"png": training.digit(number), "label": label} for number, label in enumerate((3, None))]
    store.put_artifact(run.id, "generated.json", "application/json", json.dumps(made).encode())
    digits = part(shown(store, run)["generated"], "pictures")
    assert digits["small"]
    assert [picture["label"] for picture in digits["pictures"]] == ["3", "generated"]
    assert digits["pictures"][0]["url"].startswith("data:image/png;base64,")
    store.put_artifact(run.id, "generated.json", "application/json", b"[]")
    assert "generated" not in shown(store, run)


def test_runs_that_tell_nothing_of_their_threads(store: Store, session: SessionRecord) -> None:
    run = training.running(store, session, epochs=1)
    for told in (None, [], [None, None], "many"):
        store.set_run(run.id, metrics=training.metrics(threads=told))
        assert "threads" not in shown(store, run)
