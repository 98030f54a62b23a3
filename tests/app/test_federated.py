"""The page of three ways side by side, on a seeded store."""

from __future__ import annotations

import pytest

from tests.app.conftest import Open, figures
from tests.app.test_pages import labels
from tests.app.test_studies import plain, tables
from tests.app.test_tuning import click
from tests.web import seed as class_seed
from tests.workloads.federated.study import seed
from tests.workloads.segmentation import test_panels as segmentation
from workshop.report.failures import command, failures_of
from workshop.store.records import SessionRecord
from workshop.store.store import Store

GUESSED = ("Keep my guess", "Show me without guessing")


@pytest.mark.real
def test_without_a_study_the_instructor_prepares_one_and_learners_wait(
    open_page: Open, store: Store, session: SessionRecord
) -> None:
    page = open_page("federated")
    assert "has not prepared a study here yet. Until then:" in plain(page) and "Prepare it" not in labels(page)
    assert not [block for block in page.code if block.value.startswith("workshop run")], "a phone has no terminal"
    page = open_page("federated", "instructor")
    assert [block for block in page.code if block.value.startswith("workshop run")]
    assert "15 runs" in plain(page)
    click(page, "Prepare it")
    (study,) = store.studies()
    assert (study.kind, study.trials, study.done, study.submitted_by) == ("ways", 15, 0, "Instructor")
    assert study.description["params"]["partition"] == "dirichlet"
    assert "0 of 15 runs" in plain(page) and "Start it" in labels(page)
    assert "has not prepared" in plain(open_page("federated", new="1")), "the form is the instructor's"


@pytest.mark.parametrize("role", ["learner", "instructor"])
def test_what_comes_out_is_hidden_until_one_has_guessed(
    open_page: Open, store: Store, session: SessionRecord, role: str
) -> None:
    study = seed.study(store, session)
    page = open_page("federated", role)
    assert "stays hidden until you have guessed" in plain(page)
    assert not figures(page) and "points above each alone" not in plain(page), "nothing is given away"
    click(page, "Show me without guessing")
    assert "50 points above each alone" in plain(page) and "You saw the result without a guess" in plain(page)
    assert len(figures(page)) == (4 if role == "instructor" else 2)
    assert "10:12598" in plain(page) and "+120.2 ± 8.5 %" in tables(page)
    assert "Why federated learning comes close" in plain(page)
    assert f"study/{study.id}-keep" not in [button.key for button in page.button]
    assert ("Begin another one" in labels(page)) == (role == "instructor")
    assert store.guesses(f"study/{study.id}/alone")[0].value == {"shown": True}


def test_guesses_are_kept_and_told_how_near_they_came(open_page: Open, store: Store, session: SessionRecord) -> None:
    study = seed.study(store, session)
    page = open_page("federated")
    click(page, "Keep my guess")
    assert "Give all guesses first" in plain(page)
    page.number_input[0].set_value(3.0)
    page.number_input[1].set_value(10.0)
    click(page, "Keep my guess")
    (kept,) = store.guesses(f"study/{study.id}/centralised")
    assert (kept.value, kept.nickname) == ({"guess": 3.0}, "Learner")
    (right,), (wrong,) = page.success, page.warning
    assert "You guessed 3 points, measured 2.2 points: that is near enough" in right.value.replace("\\", "")
    assert "You guessed 10 points, measured 50 points: too low" in wrong.value.replace("\\", "")
    click(open_page("federated", "instructor"), "Show me without guessing")
    assert "What the class guessed (1)" in [one.label for one in open_page("federated", "instructor").expander]


def test_the_page_of_studies_gives_nothing_away_either(open_page: Open, store: Store, session: SessionRecord) -> None:
    seed.study(store, session)
    assert not figures(open_page("studies"))
    click(open_page("federated"), "Show me without guessing")
    assert len(figures(open_page("studies"))) == 2


def test_a_study_that_goes_on_is_seen_by_round(open_page: Open, store: Store, session: SessionRecord) -> None:
    study = seed.study(store, session, ended=2)
    seed.begin(store, session, study.id, 7, rounds=2)
    page = open_page("federated", "instructor")
    assert "6 of 15 runs" in plain(page)
    assert "A command runs it" in plain(page) and "Start it" not in labels(page)
    click(page, "Show me without guessing")
    assert "seed 2, which is learning now" in plain(page) and len(figures(page)) == 2
    assert "What the class guessed" not in " ".join(one.label for one in page.expander)


def test_one_that_was_left_is_gone_on_with_by_the_instructor(
    open_page: Open, store: Store, session: SessionRecord
) -> None:
    study = seed.study(store, session, ended=2)
    store.leave_study(study.id, "seed")
    assert "Resume it" in labels(open_page("federated", "instructor"))
    page = open_page("federated")
    assert "The instructor starts its runs" in plain(page)
    assert not {"Start it", "Resume it", "Begin another one", "Pause"} & set(labels(page))
    store.update_session(session.id, state="stopped")
    page = open_page("federated", "instructor")
    assert "so nothing can run now" in plain(page) and "Resume it" not in labels(page)


@pytest.mark.real
def test_guided_failures_are_run_from_the_page(open_page: Open, store: Store, session: SessionRecord) -> None:
    page = open_page("federated")
    failures = failures_of("federated", "openfl")
    ours = failures[0]
    assert {failure.title for failure in failures} <= {expander.label for expander in page.expander}
    for failure in failures:
        page.button(key=f"failure/{failure.name}-look").click().run()
    commands = [code.value for code in page.code]
    assert command(failures[-1], "fixed") in commands and command(ours, "fixed") not in commands
    next(button for button in page.button if button.key == f"{ours.name}-broken").click().run()
    assert not page.exception
    (run,) = store.runs()
    assert (run.workload, run.submitted_by) == (ours.workload, "Learner")
    assert ours.params_of("broken").items() <= run.params.items()
    assert f"Run {run.id}" in " ".join(link.proto.label for link in page.get("page_link"))


def test_the_newest_verdicts_are_there(open_page: Open, store: Store, session: SessionRecord) -> None:
    run = segmentation.begun(store, session)
    segmentation.looked(store, run, 4, class_seed.png())
    said = {"verdict": "Outlined <b>well</b>.", "why": "", "next": ""}
    store.finish(run.id, "completed", metrics={}, verdict=said)
    page = open_page("federated")
    assert "Outlined <b>well</b>." in plain(page), "what people write is text"


def test_without_a_session_nothing_can_be_run(open_page: Open, store: Store) -> None:
    page = open_page("federated")
    assert all(button.disabled for button in page.button if (button.key or "").endswith(("-broken", "-fixed")))
