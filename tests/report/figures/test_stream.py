"""The task stream as pure functions of events."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from workshop.report.figures.stream import BARS, FEWEST, LASTING, MOST, WINDOW, PhaseSpan, joined, spans, stream
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
