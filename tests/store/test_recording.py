"""Recordings hold what a class did, without names and secrets; they come back as they were, or are refused."""

from __future__ import annotations

import gzip
import json
import math
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.store import classroom
from tests.store.classroom import HOSTS, PEOPLE, PLACES, Left
from tests.web import seed
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.sessions import client, lifecycle
from workshop.store import recording, tables
from workshop.store.records import Trial
from workshop.store.sessions import now, recorded
from workshop.store.store import Store

Show = Callable[[Path], Store]


@pytest.fixture
def left(store: Store) -> Left:
    return classroom.leave(store)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "class.db.gz"


@pytest.fixture
def show(tmp_path: Path) -> Show:
    """A store of what a recording holds."""
    number = iter(range(1000))

    def load(document: Path) -> Store:
        database = tmp_path / f"shown-{next(number)}.db"
        recording.load(document, database)
        return Store.open(f"sqlite:///{database}")

    return load


def test_what_was_there_comes_back(store: Store, left: Left, file: Path, show: Show) -> None:
    recording.record(store, ["class"], file)
    with show(file) as shown:
        assert [session.name for session in shown.sessions()] == ["class"]
        first, second, third = left.runs[:3]
        assert {run.id for run in shown.runs(limit=None)} == {first.id, second.id, third.id, left.mixed}
        back = shown.run(first.id)
        for name in ("workload", "status", "params", "metrics", "verdict", "queued_at", "finished_at"):
            assert getattr(back, name) == getattr(first, name), name
        assert (back.submitted_by, back.identity_id) == ("learner-1", first.identity_id)
        assert shown.events(first.id) == store.events(first.id)
        for name, ranks in store.totals(first.id).items():  # databases add up in orders of their own
            for rank, (count, total, *ends) in ranks.items():
                assert shown.totals(first.id)[name][rank] == (count, pytest.approx(total), *ends)
        assert shown.series(first.id, "inertia") == store.series(first.id, "inertia")
        odd = shown.events(third.id)
        assert [odd[1].value, odd[2].step] == [math.inf, None]
        assert math.isnan(odd[0].value)
        assert shown.missing_batches(third.id, 1_000_000) == {}
        assert shown.artifact(first.id, "quantised.png").data == store.artifact(first.id, "quantised.png").data
        study = shown.study(left.study)
        assert (study.state, study.trials, study.done, study.submitted_by) == ("recorded", 2, 1, "learner-2")
        assert [trial.run_id for trial in shown.trials(left.study)] == [third.id, None]
        assert [guess.value for guess in shown.guesses(f"study/{left.study}/a")] == [{"guess": 2.5}]
        assert shown.round(left.round).deck == classroom.DECK
        players = [one.nickname for one in shown.players(left.round)]
        assert players[0] == "learner-1" and players[1].startswith("learner-") and players[1] != "learner-2"
        assert len(shown.answers(left.round)) == 2
        assert {"learner-1", "learner-2"} < {one.learner for one in shown.progress()}
        recording.record(shown, ["class"], file)
    with show(file) as again:
        assert again.events(first.id) == store.events(first.id)
        assert {run.id for run in again.runs(limit=None)} == {first.id, second.id, third.id, left.mixed}


def test_a_note_stands_on_its_pages(store: Store, left: Left, file: Path, show: Show) -> None:
    recording.record(store, ["class"], file, note="Answers are  made up.")
    with show(file) as shown:
        recording.record(shown, ["class"], file)
    with show(file) as again:
        found = recorded(again.database)
        assert found is not None and found.words.endswith("; nothing runs here. Answers are made up.")
    with pytest.raises(BadInput, match="The note has 301 characters; at most 300 fit"):
        recording.record(store, ["class"], file, note="x" * 301)


def test_no_name_and_no_secret_is_in_it(store: Store, left: Left, file: Path, tmp_path: Path, show: Show) -> None:
    recording.record(store, ["class"], file)
    with show(file) as shown:
        sizes = {one.name: one.size for one in shown.artifacts(left.runs[0].id)}
        assert sizes.keys() == {"original.png", "quantised.png", "timeline.json"}
        assert sizes["timeline.json"] == len(shown.artifact(left.runs[0].id, "timeline.json").data)
    database = tmp_path / "shown-0.db"
    with closing(sqlite3.connect(database)) as connection:
        text = "\n".join(connection.iterdump())
        blobs = [data for (data,) in connection.execute("SELECT data FROM blobs")]
    text += b"".join(blobs).decode(errors="replace") + database.read_bytes().decode(errors="replace")
    text = text.replace("\\u00eb", "ë")
    for name in (*PEOPLE, "Lovelace", *HOSTS, *PLACES, *left.secrets, "STILLON"):
        assert name not in text, name
    for there in ("learner-1", "node-1", "me.jpg", "/proc/self/status"):
        assert there in text, there


def test_it_says_what_it_left_out(store: Store, left: Left, file: Path) -> None:
    assert recording.record(store, ["class"], file) == [
        "settings, ways in and codes of the class",
        "runs that had not ended: 1",
        "files of runs: 9",
        "studies with runs in other sessions: 1",
        "guesses about other things: 1",
        "rounds of quizzes that go on: 1",
    ]
    assert not any("studies" in what for what in recording.record(store, ["class", "other"], file))
    with pytest.raises(BadInput, match=r"no session 'lab9' to record; there are class, other"):
        recording.record(store, ["class", "lab9"], file)


def test_nothing_starts_in_it_and_nothing_grows_old(store: Store, left: Left, file: Path, show: Show) -> None:
    recording.record(store, ["class"], file)
    with show(file) as shown:
        found = recorded(shown.database)
        assert found is not None
        assert found.words.startswith("Recorded on ")
        assert "2 cores (Test CPU); nothing runs here" in found.words
        assert now(shown.database) == found.at
        session = shown.session("class")
        assert (session.state, session.up, session.message) == ("recorded", False, "")
        assert session.rank_map is not None
        ways: list[Callable[[], object]] = [
            lambda: client.submit(shown, session, "kmeans", {}),
            lambda: shown.submit(session.id, "kmeans", seed.PARAMS, seed.PLACEMENT),
            lambda: shown.create_session("class", seed.PLACEMENT),
            lambda: lifecycle.start_session(shown, "another", Placement(ranks=2)),
            lambda: shown.create_study("scaling", "kmeans", {}, [Trial(1, "a", {}, {}, 1)]),
            lambda: shown.take_study(left.study, "me"),
            lambda: shown.add_round("live", classroom.DECK, code="ABCDEF"),
        ]
        for way in ways:
            with pytest.raises(BadInput, match="nothing runs here"):
                way()
        assert shown.add_round("alone", classroom.DECK).id > left.round  # learning is free
        assert shown.add_identity("learner", "Ada", "hash").id > left.people[0].id


def _edited(statement: str, document: Path) -> None:
    """Change the database in a recording."""
    database = document.with_suffix(".edited")
    database.write_bytes(gzip.decompress(document.read_bytes()))
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(statement)
    document.write_bytes(gzip.compress(database.read_bytes()))


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)  # what is read is a file, whichever store it came from
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda file: file.write_bytes(b"PK\x03\x04"), "is no recording"),
        (lambda file: file.write_bytes(gzip.compress(json.dumps({"deck": "kmeans"}).encode())), "is damaged"),
        (lambda file: file.write_bytes(file.read_bytes()[:-2000]), "ends in the middle"),
        (lambda file: _edited("DELETE FROM settings", file), "is no recording"),
        (lambda file: _edited(f"UPDATE workshop_schema SET version = {tables.VERSION + 1}", file), "newer version"),
    ],
)
def test_what_is_damaged_or_foreign_is_refused(
    workshop_home: Path, store: Store, file: Path, show: Show, damage: Callable[[Path], object], words: str
) -> None:
    classroom.leave(store)
    recording.record(store, ["class"], file)
    damage(file)
    with pytest.raises(BadInput, match=words) as told:
        show(file)
    assert "\n" not in str(told.value)
