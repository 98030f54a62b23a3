"""Scale to 2,048 nodes: a guess comes first, a calibrated step is predicted, published machines are compared."""

from __future__ import annotations

import json

import pytest

from tests.app.conftest import Open
from tests.app.test_studies import labels, plain
from tests.workloads.scale.test_step import PARAMS, RANKS, document
from workshop.store.records import SessionRecord
from workshop.store.store import Store


def calibrated(store: Store, session: SessionRecord) -> int:
    metrics = json.loads(json.dumps(document()["metrics"])) | {"examples_per_second": 2560.0}
    run = store.submit(session.id, "training-step", dict(PARAMS), {"ranks": RANKS, "oversubscribe": True})
    store.finish(run.id, "completed", metrics=metrics)
    return run.id


@pytest.mark.real
def test_parts_are_measured_from_the_page(open_page: Open, store: Store, session: SessionRecord) -> None:
    page = open_page("scale")
    assert "Nothing is measured yet" in " ".join(info.value for info in page.info)
    next(button for button in page.button if button.label == "Measure the parts").click().run()
    (run,) = store.runs()
    assert (run.workload, run.placement["ranks"], run.params["per_host"]) == ("training-step", 4, 2)


def test_the_page_opens_with_a_run_that_can_be_used(open_page: Open, store: Store, session: SessionRecord) -> None:
    usable = calibrated(store, session)
    training = store.submit(session.id, "mnist", {}, {"ranks": 2})  # newer, and without events
    metrics = {"bytes_per_step": 1000, "exchange": "mpi", "images_per_second": 100.0}
    store.finish(training.id, "completed", metrics=metrics)
    page = open_page("scale", "instructor")
    assert not page.error and f"Run {usable} ·" in " ".join(link.proto.label for link in page.get("page_link"))


def test_a_guess_comes_before_the_line(open_page: Open, store: Store, session: SessionRecord) -> None:
    run = calibrated(store, session)
    page = open_page("scale")
    assert f"Run {run} · Synthetic training step · measured on 4 ranks" in " ".join(
        link.proto.label for link in page.get("page_link")
    )
    assert "Run it" not in labels(page) and "with a probability of 90 %" not in plain(page)
    page.number_input[0].set_value(40)
    next(button for button in page.button if button.label == "Keep my guess").click().run(timeout=60)
    assert "with a probability of 90 %" in plain(page) and "Most time takes compute" in plain(page)
    assert any("40" in message.value for message in (*page.warning, *page.success))


def test_a_change_is_predicted_and_run(open_page: Open, store: Store, session: SessionRecord) -> None:
    calibrated(store, session)
    page = open_page("scale", "instructor")
    toggles = {toggle.label: toggle for toggle in page.toggle}
    toggles["Half the bytes"].set_value(True).run(timeout=60)
    next(button for button in page.button if button.label == "Run it").click().run(timeout=60)
    run = store.runs()[0]
    assert run.params["half"] is True and run.params["calibrate"] is False and run.placement["ranks"] == RANKS
    store.finish(run.id, "completed", metrics={"examples_per_second": 3000.0})
    page = open_page("scale", "instructor")
    {toggle.label: toggle for toggle in page.toggle}["Half the bytes"].set_value(True).run(timeout=60)
    assert "so that the prediction is" in plain(page)


def test_published_machines_say_what_was_fitted(open_page: Open) -> None:
    page = open_page("scale")
    box = next(box for box in page.selectbox if box.label == "Machine")
    box.select("goyal-256").run(timeout=60)
    assert "Goyal" in plain(page) and "28.8" in plain(page)
    box = next(box for box in page.selectbox if box.label == "Machine")
    box.select("frontera").run(timeout=60)
    assert "can't be predicted" in " ".join(info.value for info in page.info)
