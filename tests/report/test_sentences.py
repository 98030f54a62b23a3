"""Words and numbers as pages show them, and tracebacks without the server's folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workshop
from tests.report.analysis.cases import run
from workshop.report.sentences import (
    SESSION,
    changed,
    dumps,
    metrics,
    metrics_in_two,
    metrics_of,
    public_view,
    short_traceback,
    waiting,
)
from workshop.store.records import SessionState

ROOT = Path(workshop.__file__).parent.parent
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
)


@given(anything)
def test_messages_are_json_that_browsers_read(value: Any) -> None:
    def refuse(word: str) -> None:
        raise AssertionError(word)

    json.loads(dumps(value), parse_constant=refuse)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(None, "not known yet"), (0, "in a few seconds"), (12, "about 10 s"), (88, "about 90 s"), (200, "about 3 min")],
)
def test_waits_are_as_coarse_as_they_are_uncertain(seconds: float | None, words: str) -> None:
    assert waiting(seconds) == words


@pytest.mark.parametrize(("workload", "param"), [("kmeans", "image"), ("gone", "anything")])
def test_others_see_no_path_of_whoever_started_a_run(workload: str, param: str) -> None:
    error = {"type": "ValueError", "message": "x", "traceback": 'File "/home/teacher/.venv/lib/x/y.py", line 3'}
    told = run(workload=workload, params={param: "/home/teacher/exam/photo.jpg"}, error=error)
    shown = dumps(public_view(told).as_json())
    assert "teacher" in dumps(told.as_json()) and "teacher" not in shown and "photo.jpg" in shown


def test_settings_that_are_no_defaults() -> None:
    assert changed("kmeans", {"clusters": 16, "iterations": 3, "image": "/home/teacher/photo.jpg"}) == [
        "iterations 3",
        "image photo.jpg",
    ]
    assert changed("kmeans", {"older": 1}) == ["older 1"], "a param that the workload had once"
    assert changed("gone", {"clusters": 16}) == ["clusters 16"]


def test_what_a_workload_names_as_its_results_leads() -> None:
    told = {"features": 3, "iterations": 8, "inertia": 1493.21, "clusters": 16}
    first, rest = metrics_in_two(run(workload="kmeans", metrics=told), {"clusters"})
    labels = [shown["label"] for shown in [*first, *rest]]
    assert labels == ["inertia", "iterations", "values of each point"]
    unknown = run(workload="somebody's", metrics=told)
    assert metrics_of(unknown) == metrics(told)


def test_metrics_of_training_have_their_units_and_no_hashes() -> None:
    told = {
        "images_per_second": 1812.4,
        "images_per_second_ranks": [905.1, 907.3],
        "held_out_accuracy": 0.97111,
        "time_to_target": 4.31,
        "bytes_exchanged": 12_258_752,
        "weights": ["ab" * 32],
        "digest": "ab" * 32,
        "checkpoints": {"written": 8, "bytes": 418_322, "differ": False},
        "resumed": None,
        "phases": {"input": [0.1, 0.2]},
        "exchange": "horovod",
    }
    names = {"images_per_second": "throughput [images/s]"}
    assert [(shown["label"], shown["value"]) for shown in metrics(told, names)] == [
        ("throughput", "1,810 images/s"),
        ("held-out accuracy", "97.1 %"),
        ("time to target", "4.31 s"),
        ("size exchanged", "12.3 MB"),
        ("checkpoints written", "8"),
        ("checkpoints size", "418 kB"),
        ("checkpoints differ", "no"),
        ("exchange", "horovod"),
    ]


def test_every_state_of_a_session_has_its_words() -> None:
    assert set(SESSION) == set(get_args(SessionState))


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (f"{ROOT}/workshop/engine/host.py", "workshop/engine/host.py"),
        ("/srv/x/.venv/lib/python3.11/site-packages/keras/src/trainer.py", "keras/src/trainer.py"),
        ("/usr/lib/python3.12/json/decoder.py", "json/decoder.py"),
        ("/home/some one/notes/my lab.py", "my lab.py"),
        ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>"),
    ],
)
def test_files_are_named_from_their_package_on(path: str, shown: str) -> None:
    trace = (
        f'Traceback (most recent call last):\n  File "{path}", line 12, in work\n    x = 1 / 0\nZeroDivisionError: no'
    )
    assert short_traceback(trace) == trace.replace(path, shown)


def test_groups_of_errors_too() -> None:
    trace = '  | Traceback (most recent call last):\n  |   File "/a/b/c.py", line 1, in d\n'
    assert '  |   File "c.py", line 1' in short_traceback(trace)
