"""What the dashboard lets whom do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.web import seed
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.report import html
from workshop.report.panels import outcome
from workshop.report.snapshot import Snapshot
from workshop.store.records import Identity, Limits, Role
from workshop.store.store import Store
from workshop.web import actions, auth

PLACEMENT = Placement(ranks=1).as_json()


@pytest.fixture
def learner(store: Store) -> Identity:
    return auth.let_in(store, "learner", "Ada")[0]


@pytest.fixture
def instructor(store: Store) -> Identity:
    return auth.let_in(store, "instructor", "Instructor")[0]


def test_learners_neither_launch_nor_stop_nor_reset_nor_set_limits(store: Store, learner: Identity) -> None:
    seed.session(store)
    for attempt in (
        lambda: actions.launch(store, learner, "mine", PLACEMENT),
        lambda: actions.stop(store, learner, "class"),
        lambda: actions.reset(store, learner, "class"),
        lambda: actions.set_limits(store, learner, "class", Limits(ranks=1000)),
    ):
        with pytest.raises(BadInput, match="Only the instructor"):
            attempt()
    now = store.session("class")
    assert (now.stop_requested, now.reset_requested, now.limits) == (False, False, Limits())
    assert len(store.sessions()) == 1


@pytest.mark.real
def test_the_instructor_does(store: Store, instructor: Identity) -> None:
    seed.session(store)
    actions.reset(store, instructor, "class")
    actions.set_limits(store, instructor, "class", Limits(ranks=3, minutes=1.5))
    now = store.session("class")
    assert now.reset_requested
    assert (now.limits.ranks, now.limits.minutes) == (3, 1.5)


@pytest.mark.real
def test_processes_that_a_run_starts_count_against_a_learner_s_limit(
    store: Store, learner: Identity, instructor: Identity
) -> None:
    seed.session(store)
    actions.set_limits(store, instructor, "class", Limits(ranks=5))
    session = store.session("class")
    with pytest.raises(BadInput, match=r"would have 6 processes, 5 of them beside its ranks: .* at most 5"):
        actions.submit(store, learner, session, "openfl", {"collaborators": 4}, PLACEMENT)
    with pytest.raises(BadInput, match="workshop federation install"):  # nothing else is wrong with a smaller one
        actions.submit(store, learner, session, "openfl", {"collaborators": 3}, PLACEMENT)
    assert store.runs(session_id=session.id) == []


@pytest.mark.real
def test_an_upload_is_read_and_only_its_name_is_kept(store: Store, learner: Identity) -> None:
    session = seed.session(store)
    photo = seed.png(size=16)
    run = actions.submit(
        store, learner, session, "kmeans", {"image": "upload", "clusters": 1}, PLACEMENT, {"image": ("me.png", photo)}
    )
    assert run.params["image"] == "me.png"
    assert store.artifact(run.id, "input/photo").data == photo
    assert (run.submitted_by, run.identity_id) == ("Ada", learner.id)


@pytest.mark.real
@pytest.mark.parametrize("name", ["../../etc/passwd", "a" * 300 + ".png", "", "über cat.png", "x\0y.png"])
def test_the_name_of_an_upload_is_only_a_name(store: Store, learner: Identity, name: str) -> None:
    upload = {"image": (name, seed.png(size=16))}
    run = actions.submit(store, learner, seed.session(store), "kmeans", {"clusters": 1}, PLACEMENT, upload)
    assert "/" not in run.params["image"]
    assert run.params["image"]


def test_learners_name_no_path_on_the_server(store: Store, learner: Identity, tmp_path: Path) -> None:
    session = seed.session(store)
    secret = tmp_path / "secret.png"
    secret.write_bytes(seed.png(size=16))
    for path in (str(secret), "upload", "china/../x"):
        with pytest.raises(BadInput, match="china or flower"):
            actions.submit(store, learner, session, "kmeans", {"image": path, "clusters": 1}, PLACEMENT)
    assert store.runs() == []


@pytest.mark.real
@pytest.mark.parametrize("data", [b"", b"not a photo", seed.png()[:40]])
def test_a_bad_upload_is_one_sentence_with_its_own_name(store: Store, learner: Identity, data: bytes) -> None:
    upload = {"image": ("cat.png", data)}
    with pytest.raises(BadInput) as refused:
        actions.submit(store, learner, seed.session(store), "kmeans", {"clusters": 1}, PLACEMENT, upload)
    assert "cat.png" in str(refused.value)
    assert "/tmp" not in str(refused.value)
    assert store.runs() == []


@pytest.mark.real
def test_limits_hold_for_learners(store: Store, learner: Identity, instructor: Identity) -> None:
    session = seed.session(store)
    store.update_session(session.id, limits=Limits(ranks=1, queued=1))
    session = store.session(session.id)
    two = Placement(ranks=2).as_json()
    with pytest.raises(BadInput, match="at most 1"):
        actions.submit(store, learner, session, "kmeans", {}, two)
    actions.submit(store, instructor, session, "kmeans", {}, two)
    actions.submit(store, learner, session, "kmeans", {}, PLACEMENT)
    with pytest.raises(BadInput, match="unfinished"):
        actions.submit(store, learner, session, "kmeans", {}, PLACEMENT)


@pytest.mark.parametrize("given", ["/etc/passwd", "1/../2", "-1", "7.npz", "٣", " 7", "1" * 40, None, 7, "upload"])
@pytest.mark.parametrize("role", ["learner", "instructor"])
def test_to_go_on_from_a_run_takes_its_number_and_nothing_else(store: Store, role: Role, given: object) -> None:
    identity = auth.let_in(store, role, role)[0]
    with pytest.raises(BadInput, match="should be the number of a run, or empty"):
        actions.submit(store, identity, seed.session(store), "mnist", {"resume": given}, PLACEMENT)
    assert store.runs() == []


@pytest.mark.real
def test_a_run_to_go_on_from_must_be_there(store: Store, learner: Identity) -> None:
    with pytest.raises(BadInput, match="no run 4711"):
        actions.submit(store, learner, seed.session(store), "mnist", {"resume": "4711", "data": "digits"}, PLACEMENT)


def test_only_params_that_say_so_take_an_upload(store: Store, learner: Identity, instructor: Identity) -> None:
    session = seed.session(store)
    for param in ("model", "resume"):
        upload = {param: ("mine.keras", b"x")}
        with pytest.raises(BadInput, match=f"{param} takes no file of yours"):
            actions.submit(store, learner, session, "mnist", {param: "upload"}, PLACEMENT, upload)
    with pytest.raises(BadInput, match=r"model is '/x.keras'; it should be cnn or dense\."):
        actions.submit(store, instructor, session, "mnist", {"model": "/x.keras"}, PLACEMENT)
    assert store.runs() == []


def test_the_submitter_and_the_instructor_write_notes(store: Store, learner: Identity, instructor: Identity) -> None:
    run = seed.running(store, seed.session(store), learner)
    stranger, _ = auth.let_in(store, "learner", "Bob")
    with pytest.raises(BadInput, match="Only the instructor and the person who submitted run"):
        actions.write_note(store, stranger, run.id, "mine")
    actions.write_note(store, learner, run.id, " <b>slow</b>\0 ")
    actions.write_note(store, instructor, run.id, "Look at rank 1.")
    assert store.notes(run.id) == {"submitter": "<b>slow</b>\ufffd", "instructor": "Look at rank 1."}
    card = html.live(outcome.noted(Snapshot(store, run)))
    assert "<b>Ada:</b> &lt;b&gt;slow&lt;/b&gt;" in card and "<b>Instructor:</b> Look at rank 1." in card
    actions.write_note(store, learner, run.id, "")
    assert store.notes(run.id) == {"instructor": "Look at rank 1."}
