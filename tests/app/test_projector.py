"""The projector's pages: the class with its code, the run that goes on, and nothing to press."""

from __future__ import annotations

import time

import pytest

from tests.app.conftest import Open
from tests.app.test_pages import cards, labels, words
from tests.web import seed
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.web import address, auth
from workshop.web.pages import classroom_bar


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
    assert f'location.assign("/quiz/{quiz.id}/projector?follow=class")' in bodies
    store.set_round_state(quiz.id, {}, ended=True)
    page = open_page("session", "instructor", projector="1")
    assert "follow=class" not in "".join(part.proto.body for part in page.get("html"))
