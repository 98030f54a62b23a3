"""The guided study's page, on a seeded store."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.app.conftest import Open, figures
from tests.app.test_pages import labels
from tests.app.test_studies import plain
from tests.workloads.sgan.study import world
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.study import runner
from workshop.study.guided.plan import Setting
from workshop.workloads.sgan.study.facts import GUIDE


def click(page: AppTest, label: str) -> AppTest:
    next(button for button in page.button if button.label == label).click().run()
    assert not page.exception
    return page


def test_without_a_study_the_instructor_prepares_one_and_learners_wait(
    open_page: Open, store: Store, session: SessionRecord
) -> None:
    assert "has not prepared a study here yet" in plain(open_page("tuning"))
    page = open_page("tuning", "instructor")
    assert "runs**, about" in plain(page)
    click(page, "Prepare it")
    (study,) = store.studies()
    assert (study.kind, study.trials, study.submitted_by) == ("path", 0, "Instructor")
    setting = Setting.read(GUIDE, study.description)
    assert (setting.steps, setting.quick, setting.cores) == (GUIDE.keys, True, 2)
    assert "prepared · 0 of" in plain(page) and {"Start it", "Run this step"} <= set(labels(page))


@pytest.mark.parametrize(("role", "steps"), [("learner", GUIDE.keys), ("instructor", "ai")])
def test_every_step_before_and_after_its_run(
    open_page: Open, store: Store, session: SessionRecord, role: str, steps: str
) -> None:
    empty, full = runner.begin(store, world.setting(steps="")), world.study(store, session)
    for step in steps:
        page = open_page("tuning", role, study=str(empty.id), step=step)
        assert "Nobody has run it yet" in plain(page) and "The article:" not in plain(page), "it would tell"
        assert ("Run this step" in labels(page)) == (role == "instructor")
        page = open_page("tuning", role, study=str(full.id), step=step)
        assert "hidden until you have guessed" in plain(page) and "All of its runs are there" in plain(page)
        assert not figures(page), "nothing is given away"
        click(page, "Show me without guessing")
        assert figures(page) and "You saw the result" in plain(page)
        assert ("What the class guessed (0)" in [one.label for one in page.expander]) == (role == "instructor")


def test_a_guess_is_kept_hidden_until_then_and_told_how_near_it_came(
    open_page: Open, store: Store, session: SessionRecord
) -> None:
    study = runner.begin(store, world.setting(steps=""))
    page = open_page("tuning", study=str(study.id), step="i")
    click(page, "Keep my guess")
    assert "Give a guess first" in plain(page)
    page.number_input[0].set_value(3.5)
    click(page, "Keep my guess")
    (kept,) = store.guesses(f"study/{study.id}/i")
    assert (kept.value, kept.nickname) == ({"guess": 3.5}, "Learner")
    assert "Your guess so far: 3.50×" in plain(page) and "Nothing has been measured yet" in plain(page)
    page.number_input[0].set_value(2.2)  # it may be changed until the step is run
    click(page, "Keep my guess")
    assert [guess.value for guess in store.guesses(f"study/{study.id}/i")] == [{"guess": 2.2}]

    done = world.study(store, session)
    learner = kept.identity_id
    store.keep_guess(learner, f"study/{done.id}/i", {"guess": 9.0})
    store.keep_guess(learner, f"study/{done.id}/d", {"guess": "2 × 1"})
    page = open_page("tuning", study=str(done.id), step="i")
    assert "You guessed 9.00×, measured 2.24×: too high" in plain(page)
    assert "All together: 2.24× the naive start" in plain(page)
    assert "You guessed 2 × 1, and so it is" in "\n".join(
        one.value.replace("\\", "") for one in open_page("tuning", study=str(done.id), step="d").success
    )
    click(open_page("tuning", "instructor", study=str(done.id), step="i"), "Show me without guessing")
    page = open_page("tuning", "instructor", study=str(done.id), step="i")
    assert "0 of 1 came near" in plain(page)


def test_learners_can_t_run_anything(open_page: Open, store: Store, session: SessionRecord) -> None:
    study = runner.begin(store, world.setting(steps=""))
    said = plain(open_page("tuning", study=str(study.id)))
    assert "The instructor starts its runs" in said
    page = open_page("tuning")
    assert not {"Run this step", "Start it", "Begin another one", "Pause"} & set(labels(page))
    assert "has not prepared" in plain(open_page("tuning", new="1")), "the form is the instructor's"
