"""Progress: checks are counted, solved stays solved, guesses stay when what was measured comes, names are kept."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workshop.core.errors import BadInput
from workshop.course.exercise_checks import RIGHT as CHECKED_RIGHT
from workshop.store.progress import LARGEST_VALUE, RIGHT
from workshop.store.store import Store

EACH_EXAMPLE = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
NAMES = st.text(min_size=1, max_size=80)
JSONS = st.recursive(
    st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def test_checks_are_counted_and_what_was_right_once_is_solved(store: Store) -> None:
    first = store.keep_check("ada", "kmeans", "shard", "hint", "Some points have no owner.")
    assert (first.kind, first.item, first.state, first.tries, first.wrong) == ("exercise", "shard", "hint", 1, 1)
    assert (first.said, first.right_at, first.value) == ("Some points have no owner.", None, None)
    assert first.began_at == first.changed_at
    late = store.keep_check("ada", "kmeans", "shard", "late", "It had not ended.")
    assert (late.tries, late.wrong, late.said) == (2, 2, "It had not ended.")
    right = store.keep_check("ada", "kmeans", "shard", "right", "")
    assert (right.state, right.tries, right.wrong, right.said) == ("right", 3, 0, "")
    assert right.right_at == right.changed_at and right.began_at == first.began_at
    again = store.keep_check("ada", "kmeans", "shard", "error", "A KeyError.")
    assert (again.state, again.tries, again.wrong, again.right_at) == ("error", 4, 1, right.right_at)
    assert store.keep_check("ada", "kmeans", "shard", "right", "").right_at == right.right_at
    assert CHECKED_RIGHT.kind == RIGHT


def test_a_guess_stays_when_what_was_measured_comes(store: Store) -> None:
    store.keep_prediction("ada", "mnist", "two-ranks", guess=1.8)
    both = store.keep_prediction("ada", "mnist", "two-ranks", measured=1.62)
    assert both.value == {"guess": 1.8, "measured": 1.62} and both.kind == "prediction"
    assert store.keep_prediction("ada", "mnist", "two-ranks", guess=1.7).value == {"guess": 1.7, "measured": 1.62}
    assert store.keep_prediction("ada", "mnist", "never", measured=[1, 2]).value == {"measured": [1, 2]}
    assert store.keep_prediction("ada", "mnist", "no", guess=0, measured=False).value == {"guess": 0, "measured": False}
    assert (both.tries, both.state, both.right_at) == (0, "", None)


def test_one_learner_one_lab_and_what_is_taken_back(store: Store) -> None:
    for learner in ("bob", "ada"):
        for lab in ("mnist", "first"):
            store.keep_opened(learner, lab)
            store.keep_check(learner, lab, "one", "right", "")
    assert [(one.learner, one.lab, one.kind) for one in store.progress()] == [
        (learner, lab, kind)
        for learner in ("ada", "bob")
        for lab in ("first", "mnist")
        for kind in ("exercise", "notebook")
    ]
    assert {one.learner for one in store.progress("ada")} == {"ada"} and len(store.progress("ada")) == 4
    assert {one.lab for one in store.progress(lab="mnist")} == {"mnist"} and len(store.progress(lab="mnist")) == 4
    assert len(store.progress("ada", "first")) == 2
    assert store.forget_progress("ada", "first") == 2
    assert store.forget_progress("ada", "first") == 0
    assert [one.lab for one in store.progress("ada")] == ["mnist", "mnist"]
    assert store.forget_progress("ada") == 2 and store.forget_progress("nobody") == 0
    assert {one.learner for one in store.progress()} == {"bob"} and len(store.progress()) == 4


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", {"a": 1j}, "x" * LARGEST_VALUE])
def test_values_that_cant_be_kept_are_refused(store: Store, value: Any) -> None:
    with pytest.raises(BadInput, match="guess"):
        store.keep_prediction("ada", "mnist", "two-ranks", guess=value)
    with pytest.raises(BadInput, match="measured value"):
        store.keep_prediction("ada", "mnist", "two-ranks", measured=value)
    assert store.progress() == []


def test_a_notebook_that_is_open_twice_loses_no_check(store: Store) -> None:
    def check(number: int) -> None:
        store.keep_check("ada", "first", "one", "hint", f"said {number}")
        store.keep_prediction("ada", "first", "two", **({"guess": number} if number % 2 else {"measured": number}))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(check, range(24)))
    exercise, prediction = store.progress("ada")
    assert (exercise.tries, exercise.wrong) == (24, 24)
    assert set(prediction.value) == {"guess", "measured"}


@EACH_EXAMPLE
@given(
    NAMES, st.text(min_size=1, max_size=40), NAMES, st.text(max_size=200), JSONS.filter(lambda value: value is not None)
)
def test_whatever_somebody_is_called_is_found_again(
    store: Store, learner: str, lab: str, item: str, said: str, value: Any
) -> None:
    """Markup, emoji, right-to-left and NUL included: whoever shows it escapes it."""
    store.forget_progress(learner)
    kept = store.keep_check(learner, lab, item, "hint", said)
    assert kept.said == said.replace("\0", "\ufffd")
    assert store.progress(learner, lab) == [kept]
    assert store.keep_prediction(learner, lab, item, guess=value).value == {"guess": value}
    assert store.keep_opened(learner, lab).learner == kept.learner
    assert store.forget_progress(learner, lab) == 3 and store.progress(learner) == []
