"""Schedules of pipelines: all of them end, and their bubbles are those of the formulas."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from workshop.core.errors import BadInput
from workshop.workloads.parallel import schedules
from workshop.workloads.parallel.schedules import SCHEDULES, Instruction, Streams

SECONDS = {"forward": 1.0, "backward": 2.0, "weights": 1.0}


@given(name=st.sampled_from(sorted(SCHEDULES)), stages=st.integers(1, 5), rounds=st.integers(1, 4))
def test_every_schedule_is_complete_and_never_stands_still(name: str, stages: int, rounds: int) -> None:
    micro_batches = stages * rounds
    assume(name != "bidirectional" or micro_batches % 2 == 0)
    streams = SCHEDULES[name](stages, micro_batches)
    replicas = 2 if name == "bidirectional" else 1
    schedules.check(streams, stages * (2 if name == "interleaved" else 1), micro_batches, replicas)


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


@pytest.mark.parametrize("stages", [2, 4, 6, 8])
def test_two_directions_idle_no_longer_than_the_formula(stages: int) -> None:
    """(p - 2) / (3 m / 2 + p - 2): Li and Hoefler, Chimera, arXiv:2107.06925, if backward takes twice as long."""
    formula = [(stages - 2) / (1.5 * count + stages - 2) for count in (stages, 2 * stages, 4 * stages)]
    measured = [idle("bidirectional", stages, count, SECONDS) for count in (stages, 2 * stages, 4 * stages)]
    assert measured[0] == pytest.approx(formula[0])
    assert all(share <= expected + 1e-9 for share, expected in zip(measured, formula, strict=True))
    assert measured[1] < idle("1f1b", stages, 2 * stages, SECONDS) - 0.05


@given(half=st.integers(1, 4), micro_batches=st.integers(1, 6).map(lambda count: 2 * count))
def test_the_second_replica_is_the_mirror_of_the_first(half: int, micro_batches: int) -> None:
    stages = 2 * half
    layout = schedules.Layout(stages, stages, 2)
    for stage, stream in enumerate(SCHEDULES["bidirectional"](stages, micro_batches)):
        parts = {number % stages for number in layout.numbers(stage)}
        assert parts == {stage, stages - 1 - stage}, "a rank and the one opposite to it share parts"
        assert {step.part for step in stream if step.kind in schedules.WORK} <= set(layout.numbers(stage))
        assert activations([stream], 0) <= stages + 1


def test_an_odd_number_of_micro_batches_has_no_two_directions() -> None:
    with pytest.raises(BadInput, match="an even number of micro-batches, not 3"):
        SCHEDULES["bidirectional"](2, 3)


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
