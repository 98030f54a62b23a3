"""Turns for drawing pages: so many at once, one of each person, the instructor's first."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.support import until
from workshop.store.records import Identity
from workshop.web.pages import navigation
from workshop.web.pages.navigation import DrawingTurns

ADA, BOB, EVE = (Identity(number, "learner", str(number), 1.0) for number in (1, 2, 3))
TEACHER = Identity(4, "instructor", "Instructor", 1.0)


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Iterator[DrawingTurns]:
    monkeypatch.setattr(navigation, "LONGEST_TURN", 600.0)
    return DrawingTurns(2)


def begin(turns: DrawingTurns, identity: Identity, drawn: list[Identity]) -> threading.Thread:
    """Somebody who waits for a turn."""
    waiting = len(turns._waiting)

    def draw() -> None:
        with turns.take(identity):
            drawn.append(identity)

    thread = threading.Thread(target=draw)
    thread.start()
    until(lambda: len(turns._waiting) > waiting or not thread.is_alive(), 60, "a turn")
    return thread


def test_one_of_each_person_and_the_instructor_first(turns: DrawingTurns) -> None:
    drawn: list[Identity] = []
    with ExitStack() as ada, ExitStack() as bob:
        ada.enter_context(turns.take(ADA))
        second = begin(turns, ADA, drawn)
        bob.enter_context(turns.take(BOB))
        others = [begin(turns, identity, drawn) for identity in (EVE, TEACHER)]
        assert drawn == [], "both places are taken"
        bob.close()
        for thread in others:
            thread.join(60)
        assert drawn == [TEACHER, EVE], "Ada's second page waits for her first one"
    second.join(60)
    assert drawn == [TEACHER, EVE, ADA] and not turns._since and not turns._waiting


def test_who_was_served_longest_ago_comes_first(turns: DrawingTurns) -> None:
    drawn: list[Identity] = []
    with turns.take(ADA):
        pass
    with turns.take(TEACHER), ExitStack() as bob:
        bob.enter_context(turns.take(BOB))
        waiting = [begin(turns, identity, drawn) for identity in (ADA, EVE)]
        bob.close()
        for thread in waiting:
            thread.join(60)
    assert drawn == [EVE, ADA], "Ada has just drawn"


def test_a_drawing_that_waits_for_something_holds_nobody_up(
    turns: DrawingTurns, monkeypatch: pytest.MonkeyPatch
) -> None:
    with turns.take(ADA), turns.take(BOB):
        monkeypatch.setattr(navigation, "LONGEST_TURN", 0.0)
        with turns.take(EVE), turns.take(ADA):
            pass
    assert not turns._since


def test_a_page_that_fails_gives_its_turn_back(turns: DrawingTurns) -> None:
    with pytest.raises(ZeroDivisionError), turns.take(ADA):
        raise ZeroDivisionError
    assert not turns._since
