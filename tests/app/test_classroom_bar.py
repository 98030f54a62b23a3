"""The bar on every page: how to come in and what goes on, the pace with its timer, help, and the menu.

The projector's pages: the class with its code, the run that goes on, and nothing to press.
"""

from __future__ import annotations

import time

import pytest
from streamlit.testing.v1 import AppTest

from tests.app.conftest import Open
from tests.app.test_pages import cards, labels, words
from tests.web import seed
from workshop.store.records import SessionRecord
from workshop.store.sessions import RecordingOrigin
from workshop.store.store import Store
from workshop.web import address, auth, auth_middleware, classroom
from workshop.web.pages import classroom_bar, frame


def bar(page: AppTest) -> str:
    return " ".join(" ".join(cards(page)).split())


def press(page: AppTest, label: str) -> AppTest:
    page = next(button for button in page.button if button.label == label).click().run()
    assert not page.exception
    return page


def test_the_instructor_sees_how_learners_come_in_and_what_goes_on(
    open_page: Open, store: Store, session: SessionRecord
) -> None:
    _, code = auth.new_secrets(store)
    address.tell(store, "127.0.0.1", 8501)
    ada, _ = auth.let_in(store, "learner", "Ada")
    auth.let_in(store, "learner", "Bob")
    store.keep_presence([ada.id], time.time())
    store.keep_help(ada.id, True)
    run = seed.running(store, session)
    page = open_page("history", "instructor")
    bodies = "".join(part.proto.body for part in page.get("html"))
    assert 'href="session?projector=1"' in bodies and "base64" not in bodies
    assert f"127.0.0.1:8501/join and type the code {code}" in bar(page)
    assert "can't reach this address" in bar(page) and "workshop up --host 0.0.0.0" in bar(page)
    assert ["1 of 2 here", "1 asks for help", f"Run {run.id}"] == [
        link.proto.label
        for link in page.get("page_link")
        if link.proto.label[:1].isdigit() or "Run " in link.proto.label
    ][:3]
    address.tell(store, "192.0.2.7", 8501)
    page = open_page("history", "instructor")
    assert "Phones" not in bar(page) and "192.0.2.7:8501/join" in bar(page)
    assert "data:image/svg+xml;" in "".join(part.proto.body for part in page.get("html"))
    assert code not in words(open_page("history", "learner"))


def test_a_learner_asks_for_help_and_the_instructor_answers(open_page: Open, store: Store) -> None:
    page = press(open_page("history", "learner"), "Ask for help")
    assert "I no longer need help" in labels(page)
    (learner,) = store.attendances()
    assert learner.help_asked_at is not None
    page = open_page("progress", "instructor")
    assert "**Learner** asked for help just now" in words(page).replace("\\", "")
    press(page, "Answered")
    assert store.attendances()[0].help_asked_at is None
    page = press(open_page("history", "learner"), "Ask for help")
    press(page, "I no longer need help")
    assert store.attendances()[0].help_asked_at is None


def test_everybody_sees_the_pace_and_the_timer(open_page: Open, store: Store) -> None:
    page = open_page("progress", "instructor")
    page.selectbox[0].select("first").run()
    page.selectbox[1].select("squares").run()
    press(page, "Set the pace")
    page.number_input[0].set_value(5).run()
    page = press(page, "Start the timer")
    for shown in (page, open_page("home", "learner")):
        assert "Lab 0 · " in bar(shown) and " left" in bar(shown).partition("Lab 0")[2]
        assert 'title="The class is at lab 0 ' in "".join(part.proto.body for part in shown.get("html"))
    press(open_page("progress", "instructor"), "End the timer")
    assert classroom.pace(store).until is None and classroom.pace(store).step == "squares"


def test_the_roster_is_removed_after_a_question(open_page: Open, store: Store) -> None:
    auth.let_in(store, "learner", "Ada")
    page = open_page("progress", "instructor")
    assert "logs them out" in words(page) and len(store.attendances()) == 1
    press(page, "Yes, remove all learners")
    assert store.attendances() == []


def test_a_recording_has_no_bar(open_page: Open, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "recorded", lambda: RecordingOrigin(1.0, "a machine"))
    page = open_page("history", "learner")
    assert labels(page) == [] and "Log out" in bar(page)


def test_pages_leave_a_note_and_are_not_slowed(open_page: Open, store: Store) -> None:
    open_page("history", "learner")
    (learner,) = store.attendances()
    assert learner.action is None, "a page writes nothing"
    auth_middleware.PRESENCE.write(store, [learner.id], time.time())
    assert store.attendances()[0].action == "opened the page All runs"


def test_the_class_with_its_code_and_who_is_here(open_page: Open, store: Store, session: SessionRecord) -> None:
    _, code = auth.new_secrets(store)
    address.tell(store, "192.0.2.7", 8501)
    ada, _ = auth.let_in(store, "learner", "<b>Ada</b>")
    store.keep_presence([ada.id], time.time())
    page = open_page("session", "instructor", projector="1")
    shown = " ".join(cards(page))
    assert "192.0.2.7:8501/join" in shown and code in shown and "1 learner is here" in shown
    bodies = "".join(part.proto.body for part in page.get("html"))
    assert "<li>&lt;b&gt;Ada" in bodies and "data:image/svg+xml;" in bodies
    assert labels(page) == []
    page = open_page("session", "learner", projector="1")
    assert code not in words(page) and "The projector's page is for the instructor." in words(page)


def test_the_run_that_goes_on_or_has_just_ended(
    open_page: Open, store: Store, session: SessionRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert classroom_bar.current_run(store) is None
    run = seed.running(store, session)
    assert (classroom_bar.current_run(store) or run).id == run.id
    seed.complete(store, session, run)
    assert classroom_bar.current_run(store) is not None
    for name, query in (("session", {}), ("run", {"run": str(run.id)})):
        page = open_page(name, "instructor", projector="1", **query)
        assert labels(page) == [] and "here" not in " ".join(cards(page))
    monkeypatch.setattr(classroom_bar, "LINGER", -60.0)
    assert classroom_bar.current_run(store) is None


def test_a_pinned_run_stays_until_the_pin_is_taken_back(open_page: Open, store: Store, session: SessionRecord) -> None:
    pinned = seed.completed(store, session)
    newer = seed.running(store, session)
    assert (classroom_bar.current_run(store) or pinned).id == newer.id
    page = open_page("run", "instructor", run=str(pinned.id))
    next(button for button in page.button if button.label == "Show this run on the projector").click().run()
    assert (classroom_bar.current_run(store) or newer).id == pinned.id
    next(button for button in page.button if button.label == "Let the projector follow the class").click().run()
    assert (classroom_bar.current_run(store) or pinned).id == newer.id
    assert "Show this run on the projector" not in labels(open_page("run", run=str(pinned.id)))


def test_the_projector_goes_over_to_a_live_round(open_page: Open, store: Store, session: SessionRecord) -> None:
    quiz = store.add_round("live", {"deck": "try", "title": "Try"})
    page = open_page("session", "instructor", projector="1")
    bodies = "".join(part.proto.body for part in page.get("html"))
    assert f'location.assign("quiz/{quiz.id}/projector?follow=class")' in bodies
    store.set_round_state(quiz.id, {}, ended=True)
    page = open_page("session", "instructor", projector="1")
    assert "follow=class" not in "".join(part.proto.body for part in page.get("html"))
