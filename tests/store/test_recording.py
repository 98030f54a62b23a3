"""Recordings hold what a class did, without names and secrets; they come back as they were, or are refused."""

from __future__ import annotations

import gzip
import io
import json
import math
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from tests.server import seed
from tests.store import classroom
from tests.store.classroom import HOSTS, PEOPLE, PLACES, Left
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.runtime import client, lifecycle
from workshop.store import recording, recording_file, tables
from workshop.store.read_only import now, recorded
from workshop.store.records import Trial
from workshop.store.store import Store


def made(store: Store, *sessions: str, **wishes: Any) -> tuple[bytes, list[str]]:
    file = io.BytesIO()
    left = recording.record(store, sessions or ("class",), file, **wishes)
    return file.getvalue(), left


def lines(document: bytes) -> list[Any]:
    return [json.loads(line) for line in gzip.decompress(document).splitlines()]


def packed(told: list[Any]) -> bytes:
    return gzip.compress(b"".join(json.dumps(one).encode() + b"\n" for one in told))


@pytest.fixture
def left(store: Store) -> Left:
    return classroom.leave(store)


@pytest.fixture
def empty(tmp_path: Path) -> Callable[[], Store]:
    number = iter(range(1000))
    return lambda: Store.open(f"sqlite:///{tmp_path / f'replay-{next(number)}.db'}")


def load(document: bytes, store: Store, tmp_path: Path) -> None:
    file = tmp_path / "class.jsonl.gz"
    file.write_bytes(document)
    recording.load(file, store)


def test_what_was_there_comes_back(store: Store, left: Left, empty: Callable[[], Store], tmp_path: Path) -> None:
    document, _ = made(store)
    with empty() as shown:
        load(document, shown, tmp_path)
        assert [session.name for session in shown.sessions()] == ["class"]
        first, second, third = left.runs[:3]
        assert {run.id for run in shown.runs(limit=None)} == {first.id, second.id, third.id, left.mixed}
        back = shown.run(first.id)
        for name in ("workload", "status", "params", "placement", "metrics", "verdict", "queued_at", "finished_at"):
            assert getattr(back, name) == getattr(first, name), name
        assert (back.submitted_by, back.identity_id) == ("learner-1", first.identity_id)
        assert shown.events(first.id) == store.events(first.id)
        for name, ranks in store.totals(first.id).items():  # databases add up in orders of their own
            for rank, (count, total) in ranks.items():
                assert shown.totals(first.id)[name][rank] == (count, pytest.approx(total))
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
        assert [one.nickname for one in shown.players(left.round)] == ["learner-1", "learner-3"]
        assert len(shown.answers(left.round)) == 2
        assert {one.learner for one in shown.progress()} == {"learner-1", "learner-2", "learner-4"}
        again, _ = made(shown)
        assert [str(line) for line in lines(again)] == [str(line) for line in lines(document)]


def test_a_note_stands_on_its_pages(store: Store, left: Left, empty: Callable[[], Store], tmp_path: Path) -> None:
    document, _ = made(store, note="Answers are  made up.")
    with empty() as shown:
        load(document, shown, tmp_path)
        found = recorded(shown.database)
        assert found is not None and found.words.endswith("; nothing runs here. Answers are made up.")
        again, _ = made(shown)
        assert lines(again)[0]["note"] == "Answers are made up."
    with pytest.raises(BadInput, match="The note has 301 characters; at most 300 fit"):
        made(store, note="x" * 301)


def test_no_name_and_no_secret_is_in_it(store: Store, left: Left) -> None:
    document, _ = made(store)
    text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines(document))
    for name in (*PEOPLE, "Zoë", "Lovelace", *HOSTS, *PLACES, "10.11.12.13", *left.secrets, "STILLON"):
        assert name not in text, name
    for there in ("learner-1", "node-1", "me.jpg", "/proc/self/status"):
        assert there in text, there


def test_no_file_in_it_names_anybody(store: Store, left: Left, empty: Callable[[], Store], tmp_path: Path) -> None:
    drawn = io.BytesIO()
    said = PngInfo()
    said.add_text("Author", "Mehmet", zip=True)
    Image.new("RGB", (3, 2), "#102030").save(drawn, "png", pnginfo=said)
    store.put_artifact(left.runs[0].id, "by-mehmet.png", "image/png", drawn.getvalue())
    store.put_artifact(left.runs[0].id, "cut.png", "image/png", drawn.getvalue()[:-20])
    document, _ = made(store)
    with empty() as shown:
        load(document, shown, tmp_path)
        there = {one.name: one for one in shown.artifacts(left.runs[0].id)}
        assert {*classroom.NAMED, "cut.png"} - there.keys() == {"bare.utf16", "dump.pickle", "class.gz", "cut.png"}
        data = {name: shown.artifact(left.runs[0].id, name).data for name in there}
    assert data["log.utf8"].decode() == "learner-1 was here, so was learner-1"
    assert data["log.utf16"].decode("utf-16") == "learner-2 and learner-1"
    assert json.loads(data["scores.bin"]) == {"learner-1": 1}
    picture = Image.open(io.BytesIO(data["by-mehmet.png"]))
    assert (picture.size, picture.getpixel((0, 0)), picture.info) == ((3, 2), (0x10, 0x20, 0x30), {})


def test_it_says_what_it_left_out(store: Store, left: Left) -> None:
    _, told = made(store)
    assert told == [
        "settings, ways in and codes of the class",
        "1 files over 1 MB",
        "3 files that are neither text nor PNG pictures",
        "1 files that are only good for going on",
        "1 files that ranks were given",
        "1 guesses about other things",
        "1 rounds of quizzes that go on",
        "1 runs that had not ended",
        "1 studies with runs in other sessions",
    ]
    _, told = made(store, "class", "other", largest=4 << 20)
    assert not any("other sessions" in what or "MB" in what for what in told)
    with pytest.raises(BadInput, match=r"no session 'lab9' to record; there are class, other"):
        made(store, "class", "lab9")


def test_nothing_starts_in_it_and_nothing_grows_old(
    store: Store, left: Left, empty: Callable[[], Store], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document, _ = made(store)
    with empty() as shown:
        load(document, shown, tmp_path)
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


def _edited(change: Callable[[list[Any]], None]) -> Callable[[bytes], bytes]:
    def edit(document: bytes) -> bytes:
        told = lines(document)
        change(told)
        return packed(told)

    return edit


def _begin(told: list[Any], table: str) -> int:
    return next(at for at, line in enumerate(told) if isinstance(line, dict) and line.get("table") == table)


def _row(told: list[Any], table: str) -> list[Any]:
    """The first row of a table."""
    return told[_begin(told, table) + 1]


def _set(table: str, place: int | str, value: Any) -> Callable[[bytes], bytes]:
    """Another value in the first row of a table, of a column by its place or its name."""

    def change(told: list[Any]) -> None:
        at = place if isinstance(place, int) else told[_begin(told, table)]["columns"].index(place)
        _row(told, table)[at] = value

    return _edited(change)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)  # what is read is a file, whichever store it came from
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda document: b"", "is no recording"),
        (lambda document: b"PK\x03\x04" + document, "is no recording"),
        (lambda document: gzip.compress(b'{"deck": "kmeans"}\n'), "is no recording"),
        (lambda document: document[: len(document) // 2], "is damaged at line"),
        (lambda document: document[:-4] + b"\0\0\0\0", "is damaged at line"),
        (lambda document: document + document, "there should be its end"),
        (_edited(lambda told: told[0].update(version=2)), "newer version of the workshop"),
        (_edited(lambda told: told[0].update(store=tables.VERSION + 1)), "newer version of the workshop"),
        (_edited(lambda told: told[0].update(recorded_at="today")), "when and where"),
        (_edited(lambda told: told[0].update(machine="\ud800x")), "when and where"),
        (_edited(lambda told: told.pop(3)), "is damaged at line"),
        (_edited(lambda told: told.pop()), "ends in the middle"),
        (_set("runs", 0, "one"), "runs.id can't be"),
        (_set("runs", 0, 2**31), "runs.id can't be"),
        (_set("runs", 3, "running"), "has not ended"),
        (_set("runs", 4, []), "runs.params can't be"),
        (_set("runs", "verdict", [1]), "runs.verdict can't be"),
        (_set("runs", "notices", 5), "runs.notices can't be"),
        (_set("sessions", "created_at", 1e300), "sessions.created_at can't be"),
        (_set("runs", 1, 99), "don't fit together"),
        (_set("sessions", 2, "ready"), "not recorded"),
        (_set("blobs", 1, "AAAA"), "other contents"),
        (_set("blobs", 1, "?"), "no base64"),
        (_set("progress", 0, "x" * 81), "progress.learner can't be"),
        (_set("progress", 2, "\ud800"), "progress.kind can't be"),
        (_edited(lambda told: _row(told, "events").append(1)), "values in place of"),
    ],
)
def test_what_is_damaged_or_foreign_is_refused(
    workshop_home: Path, store: Store, empty: Callable[[], Store], tmp_path: Path, damage: Any, words: str
) -> None:
    classroom.leave(store)
    document, _ = made(store)
    with empty() as shown:
        with pytest.raises(BadInput, match=words) as told:
            load(damage(document), shown, tmp_path)
        assert "\n" not in str(told.value)
        assert shown.sessions() == []
        load(document, shown, tmp_path)  # nothing was left that would be in the way
        with pytest.raises(BadInput, match="isn't empty"):
            load(document, shown, tmp_path)


def test_what_would_unpack_to_too_much_is_refused(
    tmp_path: Path, empty: Callable[[], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording_file, "LARGEST", 1 << 20)
    monkeypatch.setattr(recording_file, "LARGEST_LINE", 1 << 18)
    with empty() as shown:
        for bomb in (b" " * (1 << 26), b" " * (1 << 17) + b"\n", b"[" * (1 << 17) + b"\n"):
            document = gzip.compress(b'{"format": "workshop-recording"}\n'.replace(b"}", b"") + bomb)
            with pytest.raises(BadInput):
                load(document, shown, tmp_path)
        head = json.dumps(lines(_nothing(shown))[0]).encode() + b"\n"
        begin = b'{"table": "identities", "columns": ["id", "role", "nickname", "created_at"]}\n'
        rows = b"".join(b'[%d, "learner", "%s", 1.0]\n' % (number, b"a" * 1000) for number in range(1, 3000))
        with pytest.raises(BadInput, match="larger than a recording can be"):
            load(gzip.compress(head + begin + rows), shown, tmp_path)
        monkeypatch.setattr(recording_file, "LARGEST_FILE", 100)
        with pytest.raises(BadInput, match="at most"):
            load(b"x" * 200, shown, tmp_path)
    with pytest.raises(BadInput, match="can't be read"):
        recording.load(tmp_path / "nowhere", shown)
    with pytest.raises(BadInput, match="is no file"):
        recording.load(tmp_path, shown)


def _nothing(store: Store) -> bytes:
    file = io.BytesIO()
    writer = recording_file.RecordingWriter(file, recording_file.Head(1.0, "a machine"))
    for table in recording_file.TABLES:
        writer.table(table, [])
    writer.end()
    return file.getvalue()


texts = st.text(max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
names = st.text(min_size=1, max_size=20).filter(lambda name: name.strip() and name.isprintable())
events = st.lists(
    st.tuples(
        st.floats(0, 2e9), st.sampled_from(["loss", "time.wait"]), st.none() | st.integers(0, 2**40), st.floats()
    ),
    max_size=6,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    nickname=names,
    metrics=st.dictionaries(texts, values, max_size=4),
    message=texts,
    told=events,
    data=st.text(st.characters(exclude_characters="\0/.", codec="utf-8"), max_size=99),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    nickname: str,
    metrics: dict[str, Any],
    message: str,
    told: list[Any],
    data: str,
) -> None:
    assume(nickname not in data and "laptop" not in data)
    folder = tmp_path_factory.mktemp("trip")
    with Store.open(f"sqlite:///{folder / 'a.db'}") as store, Store.open(f"sqlite:///{folder / 'b.db'}") as shown:
        session = seed.session(store)
        who = store.add_identity("learner", nickname, "hash")
        run = store.submit(session.id, "kmeans", {}, seed.PLACEMENT, submitted_by=nickname, identity_id=who.id)
        store.take_next(session.id)
        store.add_events(run.id, 0, 1, told)
        store.put_artifact(run.id, "some.bin", "application/octet-stream", data.encode())
        error = {"rank": 0, "host": "laptop", "type": "ValueError", "message": message, "traceback": ""}
        store.finish(run.id, "failed", metrics=metrics, error=error)
        document, _ = made(store)
        load(document, shown, folder)
        again, _ = made(shown)
        assert again == document, [
            pair for pair in zip(lines(again), lines(document), strict=False) if pair[0] != pair[1]
        ]
        assert repr(shown.events(run.id)) == repr(store.events(run.id))  # NaN is not equal to itself
        assert shown.artifact(run.id, "some.bin").data == data.encode()
        assert shown.run(run.id).submitted_by.startswith("learner-")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"[" + b"[]," * (4 << 20) + b"[]]\n", "more than 200,000 values"),
        (b"[" * 100 + b"]" * 100 + b"\n", "more than 40 lists and objects in each other"),
    ],
)
def test_lines_are_refused_for_what_would_be_made_of_them(
    store: Store, left: Left, empty: Callable[[], Store], tmp_path: Path, line: bytes, words: str
) -> None:
    head = gzip.decompress(made(store)[0]).splitlines(keepends=True)[0]
    with empty() as shown:
        tracemalloc.start()
        try:
            with pytest.raises(BadInput, match=words):
                load(gzip.compress(head + line, 1), shown, tmp_path)
            assert tracemalloc.get_traced_memory()[1] < 64 << 20
        finally:
            tracemalloc.stop()
