"""Words and numbers as pages show them."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.web.words import dumps, metrics, size, value_words, waiting

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
    [(None, "not known yet"), (0, "any moment"), (12, "about 10 s"), (88, "about 90 s"), (200, "about 3 min")],
)
def test_waits_are_as_coarse_as_they_are_uncertain(seconds: float | None, words: str) -> None:
    assert waiting(seconds) == words


@pytest.mark.parametrize(("count", "words"), [(12, "12 bytes"), (66_600, "66.6 kB"), (2.5e9, "2.5 GB")])
def test_sizes(count: float, words: str) -> None:
    assert size(count) == words


def test_metrics_are_those_that_fit_on_a_line() -> None:
    told = {"inertia": 1493.21, "converged": True, "sizes": [1, 2], "seconds": {"fit": 0.0123}, "bytes_after": 66_600}
    assert metrics(told) == [
        {"label": "inertia", "value": "1493"},
        {"label": "converged", "value": "yes"},
        {"label": "fit", "value": "12 ms"},
        {"label": "size after", "value": "66.6 kB"},
    ]
    assert value_words("loss", math.inf) == "not a number"
    assert value_words("points", 1_000_000) == "1\u202f000\u202f000"
