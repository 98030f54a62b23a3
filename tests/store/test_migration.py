"""A store that an older version wrote is opened by this one: it gets the new tables and columns and loses nothing.

tests/store/version1 and version3 hold what those versions really wrote, as SQL.
"""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine, inspect, text

from tests.support import limit
from workshop.store import tables
from workshop.store.records import Trial
from workshop.store.store import Store

HERE = Path(__file__).parent


def written(url: str, by: int) -> str:
    """Fill a database with what that version has left; returns its URL."""
    folder = HERE / f"version{by}"
    if url.startswith("sqlite"):
        with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
            connection.executescript((folder / "sqlite.sql").read_text())
        connection.close()
    else:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute((folder / "postgresql.sql").read_text())
    return url


@pytest.fixture
def old(url: str) -> str:
    """The URL of a database in which version 1 has left a session and three runs."""
    return written(url, 1)


def engine_of(url: str) -> Any:
    return create_engine(url.replace("postgresql://", "postgresql+psycopg://"))


def version(url: str) -> int:
    engine = engine_of(url)
    with engine.connect() as connection:
        found = connection.scalar(text("SELECT version FROM workshop_schema"))
    engine.dispose()
    return found


def test_everything_is_found_again(old: str) -> None:
    assert version(old) == 1
    with Store.open(old) as store:
        assert version(old) == tables.VERSION == 13
        assert [(run.id, run.status) for run in store.runs()] == [(3, "queued"), (2, "failed"), (1, "completed")]
        done = store.run(1)
        assert (done.submitted_by, done.metrics, done.params["clusters"]) == ("Ada", {"inertia": 4.25}, 4)
        assert done.verdict is not None and done.verdict["verdict"] == "Well balanced."
        assert [told.value for told in store.events(1)] == [4.5, 4.25, 0.5]
        assert store.artifact(1, "quantised.png").data == b"picture"
        assert store.series(1, "inertia")[0].means == [4.5, 4.25]
        failure = store.run(2).error
        assert failure is not None and failure["message"] == "no luck"
        assert store.session("class").state == "stopped"
        assert store.session("class").site == {"kind": "local"}
        assert store.studies() == []

        # Old and new go on together.
        study = store.create_study("scaling", "kmeans", {}, [Trial(1, "1 rank", {}, {"ranks": 1}, 1)])
        run = store.submit(store.session("class").id, "kmeans", {}, {"ranks": 1}, trial=(study.id, 1))
        assert run.id == 4, "numbers go on where they were"
        assert store.trials(study.id)[0].run_id == 4
        store.keep_guess(None, "study/1", 2)
        assert store.guess(None, "study/1").value == 2
        assert store.add_round("live", {"deck": "try", "title": "Try"}).id > 0
        assert store.add_identity("learner", "Ada", "9" * 64, numbered=True).id > 0
    engine = engine_of(old)
    assert {index["name"] for index in inspect(engine).get_indexes("identities")} >= {"identities_of_nickname"}
    engine.dispose()
    with Store.open(old) as store:
        assert len(store.runs()) == 4 and len(store.studies()) == 1


def test_studies_of_version_3_get_points_and_go_on(url: str) -> None:
    with Store.open(written(url, 3)) as store:
        assert version(url) == tables.VERSION
        (study,) = store.studies()
        assert (study.submitted_by, study.trials, study.done, study.failed) == ("Ada", 2, 2, 1)
        first, second = store.trials(study.id)
        assert (first.run_id, first.point, first.pruned) == (1, {}, None)
        assert second.error == {"type": "BadInput", "message": "no luck"}
        assert store.take_study(study.id, "a") is None
        assert store.add_trials(study.id, "a", [Trial(3, "3 ranks", {}, {"ranks": 3}, 1, point={"ranks": 3})])
        store.prune_trial(study.id, 3, {"why": "too slow", "rate": 1.5, "seconds": 2.0})
        third = store.trials(study.id)[2]
        assert (third.point, third.pruned) == ({"ranks": 3}, {"why": "too slow", "rate": 1.5, "seconds": 2.0})
        store.keep_guess(None, "study/1", [1, 2])
        assert store.guess(None, "study/1").value == [1, 2]


def test_leases_of_version_11_are_dropped(url: str) -> None:
    Store.open(url).close()
    engine = engine_of(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE workshop_schema SET version = 11"))
        connection.execute(text("CREATE TABLE leases (id INTEGER, session_id INTEGER REFERENCES sessions (id))"))
    with Store.open(url) as store:
        assert version(url) == tables.VERSION
        assert store.sessions() == []
    assert "leases" not in inspect(engine).get_table_names()
    engine.dispose()


def test_several_open_it_at_once(old: str) -> None:
    found: list[int | Exception] = []

    def look() -> None:
        try:
            with Store.open(old) as store:
                found.append(len(store.runs()) + len(store.studies()))
        except Exception as error:
            found.append(error)

    threads = [threading.Thread(target=look) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(limit(30))
    assert found == [3] * 6
    assert version(old) == tables.VERSION
