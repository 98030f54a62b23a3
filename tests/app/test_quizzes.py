"""The page of quizzes, on a shelf of decks of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from app.views import quizzes
from tests.app.conftest import Open
from tests.app.test_pages import labels
from tests.app.test_studies import plain
from tests.app.test_tuning import click
from tests.quiz.nine import DECK, YAML
from workshop.quiz import reader, self_study
from workshop.quiz.self_study import QuizLearner
from workshop.store.store import Store
from workshop.web.pages import frame
from workshop.web.quiz import rounds

BROKEN = "deck: mine\ntitle: Mine\nquestions:\n  - {id: a, type: single, text: What}\n  - {id: A b, type: number}\n"


@pytest.fixture(autouse=True)
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "decks"
    folder.mkdir()
    (folder / "nine.yaml").write_text(YAML)
    monkeypatch.setattr(reader, "shipped", lambda: {path.stem: path for path in sorted(folder.glob("*.yaml"))})
    return folder


def links(page: AppTest) -> dict[str, str]:
    return {link.proto.url: link.proto.label for link in page.get("link_button")}


def test_learners_see_decks_and_how_far_they_are(open_page: Open, store: Store) -> None:
    page = open_page("quizzes")
    assert "One of each** · 9 questions" in plain(page)
    assert links(page)["quiz/alone/nine"] == "Begin"
    assert "Begin the round" not in labels(page)
    mine = self_study.begin(store, DECK, QuizLearner.from_identity(frame.visitor()))
    mine.answer("called", "MPI")
    page = open_page("quizzes")
    assert links(page)["quiz/alone/nine"] == "Go on"
    (bar,) = page.get("progress")
    assert bar.proto.text == "1 of 9 answered, 0 of 8 points; 1 question to look at again"


def test_learners_join_what_goes_on(open_page: Open, store: Store) -> None:
    going, over = rounds.host(store, DECK), rounds.host(store, DECK)
    store.set_round_state(over.id, over.state, ended=True)
    page = open_page("quizzes")
    assert links(page)[f"quiz?code={going.code}"] == "Join"
    assert not [url for url in links(page) if over.code in url or "host" in url or "results" in url]
    assert {"End it", "Begin the round"}.isdisjoint(labels(page))


def test_the_instructor_begins_a_round_and_ends_it(open_page: Open, store: Store) -> None:
    page = open_page("quizzes", "instructor")
    assert "No round has ended yet" in plain(page)
    assert "doesn't matter" in plain(page)
    next(box for box in page.checkbox if box.label.startswith("Fast answers")).check().run()
    assert "half as much again" in plain(page), "the rule of the bonus is shown"
    click(page, "Begin the round")
    page = open_page("quizzes", "instructor")  # the browser has gone to the host's view
    (this,) = store.rounds("live")
    assert (this.title, this.settings["speed_bonus"], this.settings["ranking"]) == ("One of each", True, True)
    for view in ("host", "projector", "results"):
        assert f"quiz/{this.id}/{view}" in links(page)
    assert this.code in plain(page)
    click(page, "End it")
    assert store.round(this.id).ended_at is not None
    assert links(page).keys() & {f"quiz/{this.id}/host", f"quiz/{this.id}/results"} == {f"quiz/{this.id}/results"}


def test_a_round_has_the_chosen_questions_in_their_order_and_its_host_view_stays_in_reach(
    open_page: Open, store: Store
) -> None:
    page = open_page("quizzes", "instructor")
    ids = [question.id for question in DECK.questions]
    assert page.multiselect[0].value == (list(DECK.short) or ids)
    page.multiselect[0].set_value([]).run()
    assert "Choose at least one" in plain(page) and page.multiselect and "Begin the round" not in labels(page)
    page.multiselect[0].set_value([ids[4], ids[0]]).run()
    click(page, "Begin the round")
    page = open_page("quizzes", "instructor")  # the browser has gone to the host's view
    (this,) = store.rounds("live")
    assert [question["id"] for question in this.deck["questions"]] == [ids[4], ids[0]]
    for _ in range(quizzes.RECENT + 1):
        over = rounds.host(store, DECK)
        store.set_round_state(over.id, over.state, ended=True)
    assert f"quiz/{this.id}/host" in links(open_page("quizzes", "instructor"))


def test_the_first_problems_of_a_bad_file_are_shown(open_page: Open, store: Store) -> None:
    page = open_page("quizzes", "instructor")
    page.selectbox[0].set_value("a file of mine").run()
    assert "Begin the round" not in labels(page)
    page.file_uploader[0].set_value(("mine.yaml", BROKEN.encode(), "application/yaml")).run()
    assert not page.exception
    assert "mine.yaml, line 4: question a" in plain(page) and "mine.yaml, line 5: question A b" in plain(page)
    page.file_uploader[0].set_value(("mine.yaml", YAML.encode(), "application/yaml")).run()
    click(page, "Begin the round")
    assert [this.title for this in store.rounds("live")] == ["One of each"]


@pytest.mark.parametrize("role", ["learner", "instructor"])
def test_a_deck_that_can_t_be_read_doesn_t_take_the_page_down(open_page: Open, shelf: Path, role: str) -> None:
    (shelf / "broken.yaml").write_text("deck: [")
    page = open_page("quizzes", role)
    assert ("workshop quiz check broken" in plain(page)) == (role == "instructor")
    assert "quiz/alone/nine" in links(page)
