"""Home: the run sheet with its buttons for the instructor, a first run with one press where there is no class."""

from __future__ import annotations

import pytest

from tests.app.conftest import Open
from tests.app.test_labs import press
from tests.app.test_pages import cards, labels, words
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.web import auth, classroom


def test_a_first_run_takes_one_press(open_page: Open, store: Store, session: SessionRecord) -> None:
    page = open_page("home", "instructor")
    assert "Try it alone" in words(page)
    press(page, "Run k-means: Watch it converge")
    (run,) = store.runs()
    assert (run.workload, run.submitted_by) == ("kmeans", "Instructor")
    auth.let_in(store, "learner", "Ada")
    assert "Try it alone" not in words(open_page("home", "instructor"))


def test_the_run_sheet_leads_through_the_lab_of_the_day(
    open_page: Open, store: Store, session: SessionRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page("home", "instructor")
    assert "Goal and words · 2 min" in words(page).replace("\\", "")
    page = press(page, "5′ · Exercise 1, whoami · 6 min")
    assert "Two calls of" in words(page)
    page = press(page, "Send the class here")
    assert (classroom.pace(store).lab, classroom.pace(store).step) == ("first", "whoami")
    page = press(page, "Timer 6 min")
    assert classroom.pace(store).until is not None
    page = press(page, "29′ · Quiz, take home · 6 min")
    page = press(page, "Host the quiz")
    (quiz,) = store.rounds("live", going_on=True)
    assert f'location.assign("quiz/{quiz.id}/host")' in "".join(part.proto.body for part in page.get("html"))
    assert quiz.deck["deck"] == "first"


def test_the_run_sheet_starts_the_runs_of_its_sections(open_page: Open, store: Store, session: SessionRecord) -> None:
    page = open_page("home", "instructor", lab="kmeans", step="2")
    runs = [label for label in labels(page) if label.startswith("Run k")]
    assert len(runs) == 3, "the first run of the workshop, and two of the section"
    press(page, runs[1])
    (run,) = store.runs()
    assert run.workload == "kmeans" and run.params["clusters"] == 16


def test_learners_see_their_next_step_and_no_run_sheet(open_page: Open, store: Store, session: SessionRecord) -> None:
    page = open_page("home")
    assert "Your next step" in words(page) and "Lab of the day" not in words(page)
    assert "Learners open" not in " ".join(cards(page))
