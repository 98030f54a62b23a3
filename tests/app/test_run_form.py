"""The form of a run: workloads, presets, limits, the estimate and the prediction.

Notes on a run are written on its page, by those who may.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import TextArea

from tests.app.conftest import Open
from tests.app.test_pages import labels, start, words
from tests.web import seed
from workshop.mpi.tool_interface import COUNTING
from workshop.registry import workloads
from workshop.store.records import SessionRecord
from workshop.store.store import Store


def press(page, key: str):
    return next(button for button in page.button if button.key == key).click().run()


def test_workloads_stand_in_the_order_of_the_course(open_page: Open, session: SessionRecord) -> None:
    page = open_page("run")
    titles = [workload.title for workload in workloads().values()]
    assert [option.removesuffix(" (not installed)") for option in page.selectbox[0].options] == titles
    assert titles[:4] == ["k-means", "All-reduce and messages", "Parallelism", "Handwritten digits"]
    press(page, "set-up-allreduce")
    assert page.selectbox[0].value == "allreduce"
    assert page.number_input(key="params-allreduce-largest").label == "Largest [bytes]"


def test_a_preset_fills_the_form_in(open_page: Open, session: SessionRecord) -> None:
    page = open_page("run", workload="mnist")
    assert {"Watch it converge", "Leave the broadcast out"} <= set(labels(page))
    press(page, "preset-mnist-4")
    assert page.query_params["preset"] == "4"
    assert page.toggle(key="params-mnist-preset-4-broadcast").value is False
    assert page.number_input(key="params-mnist-preset-4-epochs").value == 4
    assert "stay apart" in words(page)
    press(page, "preset-mnist-3")
    assert page.number_input(key="placement-preset-3-ranks").value == 4, "twice the two cores"
    assert "There is no" not in words(open_page("run", workload="mnist", preset="99")), "it is like none"


def test_the_limits_of_learners_are_those_of_the_form(open_page: Open, store: Store, session: SessionRecord) -> None:
    store.update_session(session.id, limits=replace(session.limits, ranks=3, threads=2, minutes=4.0))
    page = open_page("run")
    assert page.number_input(key="placement-ranks").max == 3
    assert page.number_input(key="placement-threads").max == 2
    assert "Oversubscribe" not in labels(page), "it takes four ranks"
    assert "ends a run after 4 minutes" in words(page)
    page = open_page("run", "instructor")
    assert page.number_input(key="placement-ranks").max == 1024
    assert "ends a run after" not in words(page)


def test_the_estimate_says_what_it_rests_on(open_page: Open, store: Store, session: SessionRecord) -> None:
    assert "Nobody knows yet how long this takes" in words(open_page("run"))
    run = seed.completed(store, session)
    shown = words(open_page("run")).replace("\\", "")
    assert "The last run of this workload took" in shown and "with other settings" in shown
    page = open_page("run", run=str(run.id))
    assert not start(page).disabled


def field(page: AppTest, label: str) -> Any:
    return next(field for field in (*page.number_input, *page.text_input) if field.label == label)


ASKED = "After how many iterations does it end? [iterations]"


@pytest.mark.real
def test_a_prediction_is_kept_for_the_one_who_made_it(open_page: Open, store: Store, session: SessionRecord) -> None:
    page = open_page("run")
    field(page, ASKED).set_value(12.0)
    page.number_input(key="placement-ranks").set_value(1).run()
    start(page).click().run()
    assert not page.exception and not page.error
    (run,) = store.runs()
    (guess,) = store.guesses(f"run:{run.id}")
    assert (guess.nickname, guess.value) == ("Learner", {"guess": 12.0})
    assert field(page, ASKED).value is None, "for the next run"
    assert page.info[0].value.replace("\\", "") == "You guessed 12 iterations."
    assert store.take_next(session.id) is not None
    seed.complete(store, session, run)
    page = open_page("run", run=str(run.id))
    measured = "You guessed 12 iterations, measured 20 iterations: 1.7 times too low."
    assert page.info[0].value.replace("\\", "") == measured
    assert not open_page("run", "instructor", run=str(run.id)).info


def test_a_verdict_fills_the_form_in(open_page: Open, store: Store, session: SessionRecord) -> None:
    run = store.submit(session.id, "kmeans", seed.PARAMS, seed.PLACEMENT)
    store.take_next(session.id)
    store.finish(run.id, "completed", verdict={"verdict": "A", "why": "B", "next": "Try 1 rank (--ranks 1)."})
    page = open_page("run", run=str(run.id), change="1")
    assert page.number_input(key=f"placement-{run.id}-change-1-ranks").value == 1
    assert page.number_input(key=f"params-kmeans-{run.id}-change-1-clusters").value == 4
    assert "with 1 rank" in words(page)
    open_page("run", run=str(run.id), change="7")


def test_a_switch_has_the_messages_counted(open_page: Open, store: Store, session: SessionRecord) -> None:
    page = open_page("run")
    page.toggle(key="matrix").set_value(True).run()
    start(page).click().run()
    (run,) = store.runs()
    assert run.placement["environment"] == COUNTING
    page = open_page("run", run=run.id)
    assert page.toggle(key="matrix").value is True, "like the run that is shown"
    page.toggle(key="matrix").set_value(False).run()
    start(page).click().run()
    assert store.runs()[0].placement["environment"] == {}


def test_the_instructor_kills_a_rank(open_page: Open, store: Store, session: SessionRecord) -> None:
    run = seed.running(store, session)
    assert "Kill it" not in labels(open_page("run", run=run.id))
    page = open_page("run", "instructor", run=run.id)
    next(button for button in page.button if button.label == "Kill it").click().run()
    assert store.run(run.id).kill_requested == [0]


def notes(page: AppTest) -> list[TextArea]:
    return [area for area in page.text_area if area.label.startswith("Note")]


def test_a_note_is_written_on_the_run_s_page(open_page: Open, store: Store, session: SessionRecord) -> None:
    run = seed.completed(store, session)
    assert not notes(open_page("run", "learner", run=str(run.id))), "it is not the learner's run"
    page = open_page("run", "instructor", run=str(run.id))
    notes(page)[0].set_value("Compare it with one rank.")
    next(button for button in page.button if button.label == "Save the note").click().run()
    assert [success.value for success in page.success] == ["The note is saved."]
    again = open_page("run", "instructor", run=str(run.id))
    assert notes(again)[0].value == "Compare it with one rank."
