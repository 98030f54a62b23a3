"""The class in the room: what only the instructor may do, its address, its roster, and presence by open lines."""

from __future__ import annotations

import csv
import io
import time

import pytest

from tests import classroom as progress
from tests.support import until
from tests.web import seed
from tests.web.dashboard import HTML, Dashboard, identity, sections
from workshop.core.errors import BadInput
from workshop.course.class_progress import outlines
from workshop.store.records import Identity
from workshop.store.store import Store
from workshop.web import address, auth, classroom
from workshop.web.auth_middleware import Presence


def test_learners_neither_set_the_pace_nor_answer_nor_remove(store: Store) -> None:
    ada, _ = auth.let_in(store, "learner", "Ada")
    eve, _ = auth.let_in(store, "learner", "Eve")
    classroom.need_help(store, eve, True)
    for attempt in (
        lambda: classroom.set_pace(store, ada, outlines()[0], "first"),
        lambda: classroom.set_timer(store, ada, 5),
        lambda: classroom.answer_help(store, ada, eve.id),
        lambda: classroom.remove_roster(store, ada),
        lambda: classroom.set_admission(store, ada, False),
        lambda: classroom.cancel_runs(store, ada, eve.id),
        lambda: classroom.put_out(store, ada, eve.id),
    ):
        with pytest.raises(BadInput, match="Only the instructor"):
            attempt()
    assert classroom.pace(store) == classroom.Pace()
    assert [attendance.help_asked_at is not None for attendance in store.attendances()] == [False, True]


def test_the_instructor_closes_the_door_and_puts_somebody_out(dashboard: Dashboard) -> None:
    store, instructor = dashboard.store, Identity(0, "instructor", "Instructor", 1.0)
    classroom.set_admission(store, instructor, True)
    ada, eve = dashboard.learner("Ada"), dashboard.learner("Eve")
    session = seed.session(store)
    run = store.submit(session.id, "kmeans", seed.PARAMS, seed.PLACEMENT, identity_id=identity(dashboard, eve).id)
    classroom.set_admission(store, instructor, False)
    late = dashboard.stranger().post("/join", {"code": dashboard.code, "nickname": "Late"})
    assert late.status == 403 and "The instructor has closed the class" in late.text
    assert ada.post("/join", {"code": dashboard.code, "nickname": "Ada"}).status == 303, "who was in comes in again"
    assert ada.post("/join", {"code": dashboard.code, "nickname": "Another"}).status == 403
    store.keep_presence([identity(dashboard, eve).id], time.time())
    assert classroom.look(store).present == 1
    classroom.put_out(store, instructor, identity(dashboard, eve).id)
    assert classroom.look(store).present == 0, "at once"
    assert store.run(run.id).status == "cancelled"
    until(lambda: eve.get("/", **HTML).status == 303, 60, "the end of a cookie")
    assert eve.post("/join", {"code": dashboard.code, "nickname": "Eve"}).status == 403, "the door is closed"
    dashboard.token, dashboard.code = auth.new_secrets(store)
    assert classroom.is_open(store)
    store.remove_learners("Instructor")


def test_the_pace_is_a_lab_of_the_course(store: Store) -> None:
    instructor, _ = auth.let_in(store, "instructor", "Instructor")
    labs = outlines()[0]
    classroom.set_timer(store, instructor, 5)
    classroom.set_pace(store, instructor, labs, "first", "whoami")
    pace = classroom.pace(store)
    assert pace.until is not None and pace.until > time.time()
    assert pace.words == f"The class is at lab {labs[0].label}, exercise whoami."
    classroom.set_pace(store, instructor, labs, "")
    assert classroom.pace(store).words == "" and classroom.pace(store).until == pace.until


@pytest.mark.parametrize(
    ("host", "visited", "expected"),
    [
        ("127.0.0.1", "", ("http://127.0.0.1:8501", False)),
        ("127.0.0.1", "http://localhost:8501", ("http://localhost:8501", False)),
        ("127.0.0.1", "https://lab.example.org", ("https://lab.example.org", True)),
        ("0.0.0.0", "http://localhost:8501", ("http://198.51.100.4:8501", True)),
        ("::", "http://[::1]:8501", ("http://198.51.100.4:8501", True)),
        ("0.0.0.0", "http://0.0.0.0:8501", ("http://198.51.100.4:8501", True)),
        ("192.0.2.9", "", ("http://192.0.2.9:8501", True)),
    ],
)
def test_learners_get_an_address_that_they_can_reach(
    store: Store, monkeypatch: pytest.MonkeyPatch, host: str, visited: str, expected: tuple[str, bool]
) -> None:
    monkeypatch.setattr(address, "_network_address", lambda: "198.51.100.4")
    address.tell(store, host, 8501)
    assert address.for_learners(store, visited) == expected


def test_presence_is_written_every_20_seconds(store: Store) -> None:
    ada, _ = auth.let_in(store, "learner", "Ada")
    presence = Presence()
    presence.visit(ada, "Run")
    for now, seen_at in ((1000.0, 1000.0), (1019.0, 1000.0), (1020.0, 1020.0)):
        presence.write(store, [ada.id], now)
        assert store.attendances()[0].seen_at == seen_at
    first = store.attendances()[0]
    presence.visit(ada, "Run")
    presence.write(store, [ada.id], 1040.0)
    assert store.attendances()[0].acted_at == first.acted_at, "the same page again is no action"


def test_who_has_a_page_open_is_here_and_on_the_roster(dashboard: Dashboard) -> None:
    store, name = dashboard.store, "=Zoë, <i>x</i>"
    learner, instructor = dashboard.learner(name), dashboard.instructor()
    progress.keep(store, progress.opened("hub", "first"))
    store.learner("hub")
    with learner.listen("/live/session/class"):
        until(lambda: store.attendances()[0].seen_at is not None, 60, "a written presence")
        with instructor.listen("/live/class") as line:
            entries = {entry["name"]: entry for entry in sections(line)["roster"]}
    assert entries[name]["present"] and not entries["hub"]["present"]
    assert entries["hub"]["action"].startswith("opened the lab (0 ")
    assert learner.get("/live/roster.csv").status == 403
    rows = list(csv.DictReader(io.StringIO(instructor.get("/live/roster.csv").body.decode("utf-8-sig"))))
    assert {(row["learner"], row["here now"]) for row in rows} == {(f"'{name}", "yes"), ("hub", "no")}
    store.remove_learners("Instructor")
    until(lambda: learner.get("/live/roster.csv").status == 403, 60, "an end of the cookie")


def test_a_section_that_is_drawn_again_is_no_action(store: Store) -> None:
    identity, presence = Identity(7, "learner", "Ada", 0.0), Presence()
    presence.visit(identity, "Lab 0: First contact")
    presence.turn(identity, "5. Exercise 1")
    presence.act(identity, "submitted run 7")
    presence.visit(identity, "Lab 0: First contact")
    presence.turn(identity, "6. See")
    assert presence._actions[7][0] == "submitted run 7"
    assert presence.page(identity) == "Lab 0: First contact, 6. See"
