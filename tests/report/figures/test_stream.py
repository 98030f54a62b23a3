"""The task stream as pure functions of events.

All ranks in one picture: every span where and as long as it was.
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.engine.training.trace import trace
from workshop.report.figures import theme
from workshop.report.figures.stream import (
    BARS,
    FEWEST,
    LASTING,
    MOST,
    WINDOW,
    PhaseSpan,
    joined,
    spans,
    stream,
    timeline,
)
from workshop.store.records import Event


def step(rank: int, at: float, **phases: float) -> list[Event]:
    return [Event(rank, at, f"time.{phase}", 0, seconds) for phase, seconds in phases.items()]


def test_phases_of_a_step_end_at_its_time_in_their_order() -> None:
    events = [*step(0, 10.0, communicate=1.0, compute=2.0, wait=0.5), *step(0, 12.0, compute=3.0), *step(1, 9.0)]
    assert spans(events) == [
        PhaseSpan(0, "compute", 6.5, 8.5),
        PhaseSpan(0, "wait", 8.5, 9.0),
        PhaseSpan(0, "communicate", 9.0, 10.0),
        PhaseSpan(0, "compute", 10.0, 12.0),
    ], "a step never reaches into the one before"
    assert spans([Event(0, 1.0, "loss", 0, 1.0), *step(0, 1.0, compute=float("nan"), wait=float("inf"))]) == []


def test_a_wait_without_an_end_grows() -> None:
    events = [*step(0, 10.0, compute=1.0), *step(1, 10.0, compute=1.0)]
    for now in (12.0, 15.0):
        waiting = stream(events, 2, {0: ("wait", 10.0)}, now)
        assert PhaseSpan(0, "wait", 10.0, waiting.end) in waiting.spans
        assert waiting.words(0) == f"waits for others, {now - 10:.0f} s"
        assert waiting.words(1) == "computes for 100 % of the time"
    assert stream([], 2, {}, None) is None


def test_the_past_knows_what_ranks_were_in_the_middle_of() -> None:
    events = [*step(0, 10.0, compute=1.0), *step(0, 20.0, wait=8.0), *step(1, 20.0, compute=10.0)]
    past = stream(events, 2, {}, now=15.0)
    assert past.sentence == "Rank 0 waits for others, 3 s; rank 1 computes, 5 s."
    assert max(span.end for span in past.spans) == past.end == 15.0
    assert stream(events, 2, {}, now=10.0 + LASTING / 2).words(1).startswith("computes for")


def test_short_spans_become_one_of_the_phase_with_most_time() -> None:
    short = [PhaseSpan(0, phase, at / 100, (at + 1) / 100) for at, phase in enumerate(["compute", "wait", "compute"])]
    assert joined([*short, PhaseSpan(0, "wait", 0.03, 1.0)], 0.0, 1.0, 0.1) == [
        PhaseSpan(0, "compute", 0.0, 0.03),
        PhaseSpan(0, "wait", 0.03, 1.0),
    ]


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.floats(0, 100), st.sampled_from(["compute", "wait", "other"]), st.floats(0, 9)),
        max_size=60,
    ),
    st.none() | st.floats(0, 110),
)
def test_streams_are_short_and_in_order(told: list[tuple[int, float, str, float]], now: float | None) -> None:
    drawn = stream([Event(rank, at, f"time.{name}", 0, seconds) for rank, at, name, seconds in told], 4, {}, now)
    if drawn is None:
        return
    assert 0 <= drawn.end - drawn.begin <= WINDOW + 1e-6
    for rank in range(4):
        of_rank = [span for span in drawn.spans if span.rank == rank]
        assert len(of_rank) <= 2 * min(max(BARS // 8, FEWEST), MOST) + 2
        assert all(drawn.begin <= span.begin <= span.end <= drawn.end for span in of_rank)
        assert all(one.end <= other.begin for one, other in pairwise(of_rank))


EPOCH = 1.7e9


def marks(ranks: int = 2, steps: int = 20, late: int | None = 1, begin: float = 0.0) -> np.ndarray:
    """Steps of 20 ms: 1 ms input, 10 ms compute (the late rank 15 ms), 3 ms exchange, 1 ms update; 0 ms apart."""
    told = np.zeros((ranks, steps, 5))
    for step in range(steps):
        for rank in range(ranks):
            compute = 15 if rank == late else 10
            told[rank, step] = np.array([0, 1, 1 + compute, 19, 20]) + begin + 20 * step
    return told / 1e3 + EPOCH


def drawn(figure: go.Figure) -> dict[str, list[tuple[int, float, float]]]:
    """Row, begin and length of the bars of each phase."""
    bars = [bar for bar in figure.data if bar.type == "bar"]
    return {bar.name: sorted(zip(bar.y, bar.base, bar.x, strict=True)) for bar in bars}


def came_last(figure: go.Figure) -> list[tuple[float, float]]:
    (marked,) = [one for one in figure.data if one.name == "came last"]
    return list(zip(marked.x, marked.y, strict=True))


def test_spans_are_where_and_as_long_as_they_were() -> None:
    figure = timeline(trace(marks(steps=2), 5, ["laptop", "laptop"]))
    assert drawn(figure) == {
        "input": [(row, begin, 1.0) for row in (0, 1) for begin in (0.0, 20.0)],
        "compute": [(0, 1.0, 10.0), (0, 21.0, 10.0), (1, 1.0, 15.0), (1, 21.0, 15.0)],
        "wait": [(0, 11.0, 5.0), (0, 31.0, 5.0)],
        "communicate": [(row, begin, 3.0) for row in (0, 1) for begin in (16.0, 36.0)],
        "update": [(row, begin, 1.0) for row in (0, 1) for begin in (19.0, 39.0)],
    }
    assert list(figure.layout.yaxis.ticktext) == ["rank 0", "rank 1"]
    assert list(figure.layout.xaxis.range) == [0, pytest.approx(40)]
    hatched = next(bar for bar in figure.data if bar.name == "wait")
    assert hatched.marker.pattern.shape == "/" and hatched.marker.color == theme.PHASES["wait"]
    assert hatched.hovertext[0] == "rank 0, step 5: wait 5 ms"


def test_whoever_came_last_is_marked_in_every_step() -> None:
    figure = timeline(trace(marks(ranks=3, steps=3), 0, ["laptop"] * 3))
    assert came_last(figure) == [(at, pytest.approx(0.58)) for at in (16.0, 36.0, 56.0)]
    assert "others waited up to 5 ms" in figure.data[-1].hovertext[0]


def test_where_nobody_waits_nobody_came_last() -> None:
    assert came_last(timeline(trace(marks(late=None), 0, ["laptop"] * 2))) == []


def test_the_first_steps_that_fit_are_drawn_and_numbered() -> None:
    figure = timeline(trace(marks(), 30, ["laptop"] * 2))
    assert len(drawn(figure)["compute"]) == 2 * 8
    assert [note.text for note in figure.layout.annotations] == ["step 30", *map(str, range(32, 38))]


def test_numbers_do_not_run_into_each_other() -> None:
    told = marks(steps=8, late=None)
    told[:, 2:] += 1.0
    figure = timeline(trace(told, 0, ["laptop"] * 2))
    places = [note.x / figure.layout.xaxis.range[1] for note in figure.layout.annotations]
    assert len(places) < 8
    assert all(later - one >= 0.07 for one, later in pairwise(places))


def test_a_pause_and_a_step_that_takes_long_are_passed_over() -> None:
    slow = marks(steps=20)
    slow[:, 0, 2:] += 0.5  # the first step compiles
    slow[:, 1:] += 0.5
    slow[:, 6:] += 2.0  # an evaluation behind the sixth
    figure = timeline(trace(slow, 0, ["laptop"] * 2))
    assert figure.layout.annotations[0].text == "step 6"


def test_where_every_step_differs_the_shortest_window_is_drawn() -> None:
    wild = marks(steps=3)
    wild[:, 1:] += 1.0
    wild[:, 2:] += 3.0
    assert len(drawn(timeline(trace(wild, 0, ["laptop"] * 2)))["input"]) == 2 * 3


def test_buckets_have_a_row_for_each_rank() -> None:
    moved = [[(EPOCH + 0.006, EPOCH + 0.009), (EPOCH + 0.010, EPOCH + 0.017)], [(EPOCH + 0.007, EPOCH + 0.017)]]
    figure = timeline(trace(marks(steps=1), 0, ["laptop"] * 2, transfers=moved))
    assert list(figure.layout.yaxis.ticktext) == ["rank 0", "rank 1", "buckets of rank 0", "buckets of rank 1"]
    rows = [bar for bar in drawn(figure)["communicate"] if bar[0] >= 2]
    assert rows == [(2, 6.0, 3.0), (2, 10.0, 7.0), (3, 7.0, 10.0)]
    (bars,) = [bar for bar in figure.data if bar.name == "communicate"]
    assert "gradients on their way 3 ms" in bars.hovertext


def test_one_rank_alone_is_drawn() -> None:
    figure = timeline(trace(marks(ranks=1), 0, ["laptop"]))
    assert set(drawn(figure)) == {"input", "compute", "communicate", "update"}
    assert came_last(figure) == []


@pytest.mark.parametrize("document", [{}, {"traceEvents": []}, trace(np.zeros((2, 0, 5)), 0, ["laptop"] * 2)])
def test_no_step_says_so(document: dict[str, Any]) -> None:
    assert timeline(document).layout.annotations[0].text == "No step was kept in the timeline"


def test_it_is_quick_and_small() -> None:
    document = trace(marks(ranks=4, steps=30), 2, ["laptop"] * 4)
    took = []
    for _ in range(10):
        began = time.process_time()
        figure = timeline(document)
        took.append(time.process_time() - began)
    assert min(took) < 0.05
    assert len(figure.to_json()) < 30_000


def test_many_ranks_are_few_bars() -> None:
    figure = timeline(trace(marks(ranks=128, steps=30), 0, ["laptop"] * 128))
    assert sum(len(bars) for bars in drawn(figure).values()) <= 1600
    assert len(figure.to_json()) < 150_000
