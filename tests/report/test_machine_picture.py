"""The card of the machine: who shares what, the picture, and a row for each rank, on one host or several."""

from __future__ import annotations

from typing import Any

from tests.gpu_node import MACHINE, ranks_with_gpus
from tests.report.analysis.cases import machine, rank_map
from workshop.core import topology
from workshop.report.cards import Card
from workshop.report.machine_picture import WAITING, machine_card


def rows(card: Card) -> list[Any]:
    return next(part for part in card.parts if part["kind"] == "table")["rows"]


def said(card: Card) -> list[str]:
    return [line["text"] for part in card.parts if part["kind"] == "words" for line in part["lines"]]


def test_a_rank_s_row_says_where_its_threads_were_seen() -> None:
    _, card = machine_card("M", machine(2), rank_map([0], [0, 1], seen=[[0], [0, 1]]), 1)
    assert [row[2:4] for row in rows(card)] == [
        ["hardware thread 0 in core 0", "1 thread, seen on hardware thread 0"],
        ["any hardware thread (unbound)", "1 thread, seen on hardware threads 0 and 1"],
    ]
    assert said(card) == [WAITING]


def test_a_rank_s_row_says_which_gpus_it_may_use() -> None:
    _, card = machine_card("M", MACHINE, ranks_with_gpus(([0], "0"), ([17], "4,5")), 1)
    assert [row[-1] for row in rows(card)] == ["GPU 0 (same package)", "GPUs 4 and 5 (other package)"]
    assert [part["headings"][-1] for part in card.parts if part["kind"] == "table"] == ["May use"]


def test_each_host_has_its_own_units() -> None:
    here, there = machine(2, host="a"), machine(4, host="b")
    one, other = rank_map([0, 1], host="a")["ranks"], rank_map([0, 1], host="b")["ranks"]
    ranks = [one[0], {**other[0], "rank": 1}]
    _, card = machine_card("M", topology.together([here, there]), {"measured": True, "ranks": ranks}, 1)
    assert [row[1:3] for row in rows(card)] == [
        ["a", "any hardware thread (unbound)"],
        ["b", "hardware threads 0 and 1 in cores 0 and 1"],
    ]


def test_ranks_that_rest_share_without_alarm() -> None:
    crowded = (machine(1), rank_map([0], [0]), 1)
    sentence = "Ranks 0 and 1 share hardware thread 0 of laptop: 2 threads."
    assert crowd_line(machine_card("M", *crowded)) == (f"Oversubscribed: {sentence}", "alarm")
    resting = machine_card("M", *crowded, "Nothing runs now.")
    assert crowd_line(resting) == (f"Oversubscribed when all compute: {sentence}", "about")
    assert said(resting[0])[0] == "Nothing runs now."


def crowd_line(found: list[Card]) -> tuple[str, str]:
    lines = [line for part in found[0].parts if part["kind"] == "words" for line in part["lines"]]
    return next((line["text"], line["tone"]) for line in lines if line["text"].startswith("Oversubscribed"))
