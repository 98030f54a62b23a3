"""The form and the comparison of training runs."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.app.conftest import Open
from tests.app.test_pages import words
from tests.web import training
from workshop.store.records import SessionRecord
from workshop.store.store import Store


def start(page: AppTest) -> AppTest:
    return next(button for button in page.button if button.label == "Start the run").click().run()


def mnist(page: AppTest) -> AppTest:
    return page.selectbox[0].set_value("mnist").run()


@pytest.mark.real
def test_switches_of_the_recipe_are_set_and_stand_together(
    open_page: Open, store: Store, session: SessionRecord
) -> None:
    page = mnist(open_page("run"))
    assert "**The recipe, step by step**" in words(page)
    switches = [toggle for toggle in page.toggle if toggle.key.startswith("params-mnist-")]
    said = {toggle.key.removeprefix("params-mnist-"): toggle.label for toggle in switches}
    assert list(said) == ["broadcast", "shard", "divide", "average"]
    assert said["broadcast"] == "**Broadcast**: all ranks begin with rank 0's weights"
    page.segmented_control(key="params-mnist-data").set_value("digits")
    page.toggle(key="params-mnist-broadcast").set_value(False)
    page.number_input(key="params-mnist-steps").set_value(5)
    start(page.run())
    assert not page.exception
    (run,) = store.runs()
    assert (run.workload, run.params["data"], run.params["broadcast"]) == ("mnist", "digits", False)
    assert (run.params["shard"], run.params["steps"], run.params["images"]) == (True, 5, None)


def test_a_model_is_chosen_not_uploaded(open_page: Open, session: SessionRecord) -> None:
    page = mnist(open_page("run"))
    assert page.segmented_control(key="params-mnist-model").options == ["cnn", "dense"]
    assert page.segmented_control(key="params-mnist-data").options == ["auto", "mnist", "digits", "upload"]


@pytest.mark.parametrize("path", ["/etc/pass", "7.npz", "-1"])
def test_the_form_takes_the_number_of_a_run_not_a_path(
    open_page: Open, store: Store, session: SessionRecord, path: str
) -> None:
    page = mnist(open_page("run", role="instructor"))
    page.text_input(key="params-mnist-resume").set_value(path).run()
    start(page)
    assert "should be the number of a run" in page.error[0].value.replace("\\", "")
    assert store.runs() == []


def test_a_link_fills_the_form_in_to_go_on_from_a_run(open_page: Open, store: Store, session: SessionRecord) -> None:
    run = training.killed(store, session)
    page = open_page("run", run=str(run.id))
    assert page.text_input(key="params-mnist-resume").value == ""
    page = open_page("run", run=str(run.id), again=str(run.id))
    assert page.text_input(key="params-mnist-resume").value == str(run.id)
    assert page.number_input(key="params-mnist-seed").value == 3, "the run's own settings"
    assert page.number_input(key="placement-ranks").value == 2
    assert f"go on from run {run.id}" in words(page)
    assert any(expander.label == "Advanced" and expander.proto.expanded for expander in page.expander)


@pytest.mark.parametrize("other", ["", "x", "999", "/etc/passwd"])
def test_a_link_to_go_on_from_anything_else_fills_in_nothing(
    open_page: Open, store: Store, session: SessionRecord, other: str
) -> None:
    run = training.killed(store, session)
    page = open_page("run", run=str(run.id), again=other)
    assert page.text_input(key="params-mnist-resume").value == ""


def test_paths_that_the_command_line_took_are_not_shown(open_page: Open, store: Store, session: SessionRecord) -> None:
    paths = {"resume": "/home/teacher/checkpoint.npz", "model": "/home/teacher/m.keras"}
    run = training.running(store, session, epochs=1, **paths)
    page = open_page("run", run=str(run.id))
    assert page.text_input(key="params-mnist-resume").value == ""
    assert page.segmented_control(key="params-mnist-model").value == "cnn"


def test_two_training_runs_side_by_side(open_page: Open, store: Store, session: SessionRecord) -> None:
    first = training.completed(store, session)
    second = training.completed(store, session, exchange="none")
    page = open_page("history", compare=f"{first.id},{second.id}")
    shown = words(page)
    headings = [line.removeprefix("#### ") for line in shown.splitlines() if line.startswith("#### ")]
    assert headings == ["What differs", "Loss", "Accuracy", "Total images/s", "Spread"]
    assert "1,810 images/s" in shown
    page.segmented_control[-1].set_value("by time").run()
    assert not page.exception


@pytest.mark.real
def test_the_form_of_the_gan_has_its_evaluation_together(open_page: Open, store: Store, session: SessionRecord) -> None:
    page = open_page("run").selectbox[0].set_value("sgan").run()
    assert "**Evaluation on held-out images**" in words(page)
    assert page.segmented_control(key="params-sgan-size").options == ["28", "56", "112"]
    page.segmented_control(key="params-sgan-size").set_value(56)
    page.segmented_control(key="params-sgan-data").set_value("digits")
    page.segmented_control(key="params-sgan-evaluate_by").set_value("rank0")
    page.number_input(key="params-sgan-iterations").set_value(40)
    start(page.run())
    assert not page.exception
    (run,) = store.runs()
    given = {"size": 56, "data": "digits", "evaluate_by": "rank0", "iterations": 40, "method": "sgan", "rate": None}
    assert (run.workload, {name: run.params[name] for name in given}) == ("sgan", given)
