"""Schedules of pipelines: all of them end, and their bubbles are those of the formulas."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.core.errors import BadInput
from workshop.workloads.parallel import schedules
from workshop.workloads.parallel.schedules import SCHEDULES, Instruction, Streams

SECONDS = {"forward": 1.0, "backward": 2.0, "weights": 1.0}


@given(name=st.sampled_from(sorted(SCHEDULES)), stages=st.integers(1, 5), rounds=st.integers(1, 4))
def test_every_schedule_is_complete_and_never_stands_still(name: str, stages: int, rounds: int) -> None:
    micro_batches = stages * rounds
    streams = SCHEDULES[name](stages, micro_batches)
    schedules.check(streams, stages * (2 if name == "interleaved" else 1), micro_batches)


def idle(name: str, stages: int, micro_batches: int, seconds: dict[str, float]) -> float:
    spans = schedules.simulate(SCHEDULES[name](stages, micro_batches), lambda work: seconds[work.kind])
    return schedules.idle_share(spans, stages)


@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("micro_batches", [4, 8, 12])
def test_bubbles_are_those_of_the_formulas(stages: int, micro_batches: int) -> None:
    def bubble(name: str) -> float:
        return idle(name, stages, micro_batches, SECONDS)

    assert bubble("naive") == pytest.approx(1 - 1 / stages)
    for name in ("gpipe", "1f1b"):  # (p - 1) / (m + p - 1), Huang et al. section 2.3
        assert bubble(name) == pytest.approx((stages - 1) / (micro_batches + stages - 1))
    if micro_batches % stages == 0:  # with v parts for each stage, the bubble is v times as short
        expected = (stages - 1) / 2 / (micro_batches + (stages - 1) / 2)
        assert bubble("interleaved") == pytest.approx(expected)


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_gradients_of_weights_fill_the_bubble(stages: int) -> None:
    split = {"forward": 1.0, "backward": 1.0, "weights": 1.0}
    bubbles = {name: idle(name, stages, 8, seconds) for name, seconds in (("1f1b", SECONDS), ("zero-bubble", split))}
    assert bubbles["zero-bubble"] < 0.75 * bubbles["1f1b"]


def activations(streams: Streams, stage: int) -> int:
    """The most micro-batches whose activations a stage keeps at once."""
    now = most = 0
    for instruction in streams[stage]:
        now += (instruction.kind == "forward") - (instruction.kind == "backward")
        most = max(most, now)
    return most


def test_one_forward_one_backward_keeps_fewer_activations() -> None:
    assert [activations(SCHEDULES["gpipe"](4, 8), stage) for stage in range(4)] == [8, 8, 8, 8]
    assert [activations(SCHEDULES["1f1b"](4, 8), stage) for stage in range(4)] == [4, 3, 2, 1]


def test_two_stages_that_wait_for_each_other_are_named() -> None:
    streams = [
        [Instruction("receive", 0, 0, "backward"), Instruction("send", 0, 1)],
        [Instruction("receive", 0, 1), Instruction("send", 0, 0, "backward")],
    ]
    with pytest.raises(BadInput, match=r"stage 0 waits at the receive .* and stage 1 waits at the receive"):
        schedules.simulate(streams, lambda work: SECONDS[work.kind])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda streams: [streams[0][:-1], streams[1]], "no backward of micro-batch 1 in part 0"),
        (lambda streams: [streams[0], [*streams[1], streams[1][1]]], "twice"),
        (lambda streams: [streams[0], [streams[1][2], *streams[1]]], "stands still"),
    ],
)
def test_a_schedule_that_is_wrong_is_refused(change, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        schedules.check(change([list(stream) for stream in SCHEDULES["gpipe"](2, 2)]), 2, 2)
