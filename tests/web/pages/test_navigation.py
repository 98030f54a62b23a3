"""Turns for drawing pages: so many learners' pages at once, and the instructor's at any time."""

from __future__ import annotations

import threading

import pytest

from workshop.store.records import Identity
from workshop.web.pages import navigation
from workshop.web.pages.navigation import turn

ADA, BOB, EVE = (Identity(number, "learner", str(number), 1.0) for number in (1, 2, 3))
TEACHER = Identity(4, "instructor", "Instructor", 1.0)


@pytest.fixture(autouse=True)
def places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(navigation, "TURNS", threading.BoundedSemaphore(2))
    monkeypatch.setattr(navigation, "LONGEST_TURN", 600.0)


def test_learners_wait_for_a_place_and_the_instructor_does_not() -> None:
    drawn = threading.Event()

    def draw() -> None:
        with turn(EVE):
            drawn.set()

    thread = threading.Thread(target=draw)
    with turn(ADA):
        with turn(BOB):
            thread.start()
            with turn(TEACHER):
                assert not drawn.wait(0.2), "both places are taken"
        assert drawn.wait(60)
    thread.join(60)


def test_a_drawing_that_waits_for_something_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with turn(ADA), turn(BOB):
        monkeypatch.setattr(navigation, "LONGEST_TURN", 0.0)
        with turn(EVE), turn(ADA):
            pass


def test_a_page_that_fails_gives_its_turn_back() -> None:
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), turn(ADA):
            raise ZeroDivisionError
