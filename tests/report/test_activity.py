from __future__ import annotations

from dataclasses import replace

from tests.report.analysis.cases import run
from workshop.report.activity import ActivityReader, activity_words, seconds_left
from workshop.store.store import Store

NOW = 1000.0


def test_what_a_run_does_is_told_with_the_time_left_and_with_what_is_unusual() -> None:
    running = replace(run(), status="running", started_at=NOW - 50, finished_at=None, progress=None, activity=None)
    assert activity_words(running, None, NOW) == "Starting"
    reading = replace(running, activity={"words": "reading data"})
    assert activity_words(reading, 40.0, NOW) == "Reading data"
    assert activity_words(reading, 20.0, NOW) == "Reading data, longer than usual: such runs take 20 s"
    training = replace(reading, activity={"words": "training", "done": 10.0, "at": NOW - 20}, progress=(30.0, 100.0))
    assert seconds_left(training, NOW) == 70.0
    assert activity_words(training, None, NOW) == "Training, about 70 s left"
    assert seconds_left(replace(training, progress=(10.0, 100.0)), NOW) is None, "nothing is measured yet"
    assert activity_words(replace(training, progress=(100.0, 100.0)), None, NOW) == "Training"


def test_only_a_run_that_goes_on_does_anything(store: Store) -> None:
    assert ActivityReader(store).words(replace(run(), status="completed")) == ""
    assert ActivityReader(store).words(replace(run(), status="running", activity=None)).startswith("Starting")
