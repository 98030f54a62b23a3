"""Which kills a run accepts, and what is refused in a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.core.errors import BadInput
from workshop.workloads.elastic import WORKLOAD, ElasticParams, check_ranks
from workshop.workloads.elastic.kills import Kill, draw_kill, parse_kills, random_mean


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(1, 10_000)), max_size=6))
def test_kills_are_read_in_the_order_of_their_steps(kills: list[tuple[int, int]]) -> None:
    text = ", ".join(f"{rank}@step:{step}" for rank, step in kills)
    assert parse_kills(text) == tuple(sorted((Kill(*kill) for kill in kills), key=lambda kill: kill.step))


@pytest.mark.parametrize("text", ["2", "rank 2@step:4", "2@step:4,", "-1@step:4", "random:1"])
def test_other_text_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadInput, match=r"it should be RANK@step:N .* such as 2@step:40"):
        WORKLOAD.check({"kill": text})


@pytest.mark.parametrize(
    ("kill", "words"),
    [
        ("3@step:2", "names rank 3, but this run has 3 ranks; name one from 0 to 2"),
        ("1@step:61", "names step 61, but this run has 60 steps"),
        ("0@step:2,1@step:2,2@step:5", "names all 3 ranks, so none would go on"),
    ],
)
def test_a_kill_that_cannot_be_carried_out_is_refused(kill: str, words: str) -> None:
    params = ElasticParams(data="digits", images=960, batch=32, epochs=6, kill=kill)  # ten steps an epoch
    with pytest.raises(BadInput, match=words):
        check_ranks(params, {}, 3)


def test_a_run_that_restarts_has_all_ranks_again() -> None:
    params = ElasticParams(images=960, kill="1@step:2,1@step:9,0@step:9,2@step:9", on_failure="restart")
    check_ranks(params, {}, 3)


def test_new_ranks_count_for_the_limit_of_a_learner() -> None:
    assert WORKLOAD.processes is not None
    assert WORKLOAD.processes(ElasticParams(kill="1@step:2,0@step:3", on_failure="grow")) == 2
    assert WORKLOAD.processes(ElasticParams(kill="1@step:2")) == 0


def test_random_kills_come_about_as_often_as_the_mean_says() -> None:
    assert random_mean("random:60") == 60 and parse_kills("random:60") == () and random_mean("2@step:4") is None
    kills = [draw_kill(60, seed, number, 100, 3) for seed in range(40) for number in range(50)]
    assert {kill.rank for kill in kills} == {0, 1, 2} and min(kill.step for kill in kills) == 101
    mean = sum(kill.step - 100 for kill in kills) / len(kills)
    assert mean == pytest.approx(60, abs=5)  # its standard error is 60 / sqrt(2000) = 1.3 steps
    assert draw_kill(60, 3, 1, 100, 3) == draw_kill(60, 3, 1, 100, 3) != draw_kill(60, 3, 2, 100, 3)


def test_random_kills_need_new_ranks() -> None:
    with pytest.raises(BadInput, match="on_failure is grow; choose restart, or name ranks and steps"):
        check_ranks(ElasticParams(kill="random:60", on_failure="grow"), {}, 3)
    check_ranks(ElasticParams(kill="random:60", on_failure="restart"), {}, 3)
