"""Speed-up, efficiency and what limits them, as a table: measurements on the left, words of the answer right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.analysis.cases import run, times
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.threads import Oversubscription
from workshop.store.records import Trial
from workshop.study.results import CellResult, results
from workshop.study.scaling.efficiency import PUBLISHED, Row, compared, references, row, serial_share
from workshop.study.scaling.kind import scaling_verdict

ALONE = {"compute": 10.0, "communicate": 0.0, "wait": 0.0, "input": 0.1}
EVEN = {"compute": 19.0, "communicate": 0.6, "wait": 0.4, "input": 0.2}
CROWD = (Oversubscription("laptop", (0, 1, 2, 3), (0, 1), 2, 4, "units"),)


def of(ranks: int, *rates: float, threads: int = 1, seconds: Mapping[str, float] | None = None, **more: Any) -> Row:
    """The row of some rates; without any, its trials have failed."""
    told = seconds if seconds is not None else ALONE if ranks == 1 else EVEN
    shares = {phase: value / sum(told.values()) for phase, value in told.items()} if rates else {}
    runs, why = tuple(100 * ranks + n for n in range(len(rates))), more.pop("why", "")
    place = {"ranks": ranks, "threads": threads}
    cell = CellResult("", {}, {}, place, rates, runs, "completed" if rates else "failed", why, 0 if rates else 1)
    return Row(cell, shares, cores=more.pop("cores", 2), **more)


def judge(*rows: Row, weak: bool = False) -> tuple[str, str]:
    limit, said = scaling_verdict(compared(rows), weak)
    assert set(said) == {"verdict", "why", "next"}
    return limit, f"{said['verdict']} | {said['why']} | {said['next']}"


ONE = of(1, 98.0, 100.0, 103.0)

CASES: dict[str, tuple[list[Row], str, list[str]]] = {
    "close to the ideal": (
        [ONE, of(2, 190.0, 193.0, 195.0)],
        "compute",
        ["Close to the ideal: 1.93× on 2 ranks.", "96 % of the ideal", "computing 94 %", "Every core is at work"],
    ),
    "above the ideal": (
        [ONE, of(2, 220.0, 225.0, 221.0)],
        "compute",
        ["Above the ideal: 2.21× on 2 ranks.", "fits the caches better"],
    ),
    "moving data": (
        [ONE, of(2, 118.0, 120.0, 125.0, seconds={"compute": 12.0, "communicate": 7.0, "wait": 0.6, "input": 0.2})],
        "communication",
        ["Communication limits: 1.20× on 2 ranks.", "moving data 35 %", "larger batch"],
    ),
    "more ranks than cores": (
        [ONE, of(2, 190.0, 193.0, 195.0), of(4, 150.0, 151.0, 149.0, crowds=CROWD)],
        "oversubscription",
        [
            "Oversubscribed: 4 ranks on 2 cores are 1.50× as fast as 1 rank.",
            "Up to 2 ranks it is close to the ideal: 1.93×",
            "cores for 2 ranks (--ranks 2)",
        ],
    ),
    "more threads than cores": (
        [
            of(1, 100.0, 101.0, threads=2),
            of(2, 101.0, 108.0, threads=2, crowds=(Oversubscription("laptop", (0, 1), (0, 1), 2, 4, "units"),)),
        ],
        "oversubscription",
        ["2 ranks × 2 threads on 2 cores", "1 rank (--ranks 1) of 2 threads; or try one each (--threads 1)"],
    ),
    "one rank is late": (
        [
            ONE,
            of(
                2,
                *(130.0, 131.0, 133.0),
                seconds={"compute": 13.0, "communicate": 0.4, "wait": 6.0, "input": 0.2},
                late=(1,),
                waited="Rank 0 waited 8 ms a step for rank 1, which shares core 0 with rank 0.",
            ),
        ],
        "stragglers",
        ["Rank 1 holds up the others: 1.31×", "waiting 31 %", "shares core 0", "run 201"],
    ),
    "ranks are late in turns": (
        [ONE, of(2, 130.0, 131.0, 133.0, seconds={"compute": 13.0, "communicate": 0.4, "wait": 6.0, "input": 0.2})],
        "stragglers",
        ["Waiting limits: 1.31×", "the runs do not tell", "nobody else's run is under way"],
    ),
    "input": (
        [ONE, of(2, 120.0, 121.0, 125.0, seconds={"compute": 12.0, "communicate": 0.5, "wait": 0.4, "input": 6.0})],
        "input",
        ["Input limits: 1.21×", "reading input 32 %"],
    ),
    "computing gets slower": (
        [ONE, of(2, 140.0, 141.0, 143.0)],
        "compute",
        ["Computing itself gets slower: 1.41×", "1.35 times as long", "--weak"],
    ),
    "noise": (
        [of(1, 80.0, 100.0, 170.0), of(2, 95.0, 150.0, 200.0)],
        "noise",
        ["Too noisy to tell", "80 to 170", "95 to 200", "--repeats"],
    ),
    "another limit further on": (
        [
            ONE,
            of(2, 140.0, 141.0, 142.0, seconds={"compute": 14.0, "communicate": 5.0, "wait": 0.5, "input": 0.2}),
            of(4, 120.0, 121.0, 122.0, crowds=CROWD),
        ],
        "communication",
        ["1.41× on 2 ranks", "Then, with 4 ranks: Ranks that share a core take turns"],
    ),
    "without one rank": (
        [of(2, 100.0, 101.0, cores=8), of(4, 190.0, 193.0, cores=8)],
        "compute",
        ["1.91× from 2 to 4 ranks", "the throughput of 2 ranks"],
    ),
    "phases unknown": ([ONE, of(2, 120.0, 121.0, seconds={})], "unknown", ["Below the ideal", "did not tell"]),
    "all failed": (
        [of(1, why="ValueError: no luck"), of(2, why="ValueError: none")],
        "unknown",
        ["Nothing could be measured.", "ValueError: no luck."],
    ),
    "the base failed": (
        [of(1, why="X: y"), of(2, 100.0, 101.0), of(4, 190.0, 193.0)],
        "compute",
        ["from 2 to 4 ranks", "1 cell failed; "],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_verdicts(name: str) -> None:
    rows, limit, words = CASES[name]
    found, said = judge(*rows)
    assert found == limit, said
    for expected in words:
        assert expected in said, said


def test_weak_scaling_says_so() -> None:
    assert "On the same work" in judge(ONE, of(2, 190.0, 193.0, 195.0))[1]
    said = judge(ONE, of(2, 190.0, 193.0, 195.0), weak=True)[1]
    assert "On work that grew with them" in said and "the same work for all numbers of ranks" in said
    moving = {"compute": 12.0, "communicate": 7.0, "wait": 0.6, "input": 0.2}
    for seconds in (EVEN, moving):  # which it has already
        assert "--weak" not in judge(ONE, of(2, 120.0, 121.0, seconds=seconds), weak=True)[1]


def test_rows_are_medians_against_the_smallest_number_of_ranks() -> None:
    one, two = compared([of(2, 195.0, 150.0, 190.0), of(1, 100.0, 90.0, 101.0)])
    assert (one.ranks, one.speed_up, one.efficiency) == (1, 1.0, 1.0)
    assert (two.speed_up, two.efficiency) == (1.9, 0.95)
    told = two.as_json()
    assert (told["throughput"], told["low"], told["repeats"], told["failed"]) == (190.0, 150.0, 3, 0)
    empty = compared([of(1), of(2, 100.0)])[0].as_json()
    assert (empty["throughput"], empty["speed_up"], empty["efficiency"], empty["low"]) == (None,) * 4


@pytest.mark.parametrize("weak", [False, True])
@given(serial=st.floats(0.0, 1.0))
def test_the_law_s_own_curve_gives_its_serial_share(weak: bool, serial: float) -> None:
    gains = {n: n - serial * (n - 1) if weak else 1 / (serial + (1 - serial) / n) for n in (1, 2, 4, 8)}
    rows = [of(n, 100.0 * gain) for n, gain in gains.items()]
    crowded = of(16, 1.0, crowds=CROWD)  # which no law knows
    assert serial_share(compared([*rows, crowded]), weak) == pytest.approx(serial, abs=1e-9)
    assert serial_share(compared(rows[:1]), weak) is None


TRAINED = {
    "exchange": "mpi",
    "updates": 100,
    "images_per_second": 200.0,
    "measured_steps": 100,
    "phases": {"input": [0.1, 0.1], "compute": [8.0, 5.0], "communicate": [0.5, 0.5], "wait": [0.0, 3.0]},
    "last": [100, 0],
    "late_by": [0.03, 0.0],
}


def measured(metrics: dict[str, Any], totals: Totals, rate: str) -> Row:
    known = run(metrics=metrics)
    (cell,) = results([Trial(1, "2 ranks", {}, known.placement, 1, known.id)], {known.id: known}, rate)
    return row(cell, {known.id: (known, totals)})


def test_the_row_of_a_run() -> None:
    found = measured(TRAINED, {}, "images_per_second")
    assert (found.ranks, found.threads, found.cell.rates) == (2, 1, (200.0,))
    expected = {"compute": 13.0, "communicate": 1.0, "wait": 3.0, "input": 0.2}
    assert found.shares == pytest.approx({phase: seconds / 17.2 for phase, seconds in expected.items()})
    assert found.late == (0,) and "for rank 0" in found.waited
    assert (found.crowds, found.cores) == ((), 2)


def test_a_workload_that_tells_events_only() -> None:
    found = measured({"points_per_second": 3}, times([2.0, 2.1], [0.4, 0.3]), "points_per_second")
    assert found.cell.rates == (3.0,)
    assert found.shares == pytest.approx(
        {"compute": 4.1 / 4.8, "communicate": 0.6 / 4.8, "wait": 0.1 / 4.8, "input": 0}
    )


def test_published_figures() -> None:
    found = {one.what: one for one in PUBLISHED}
    assert round(found["ResNet-50"].speed_up, 2) == 1.89 == round(632.8 / 334.0, 2)
    assert found["U-Net"].speed_up == 1.84 and abs(72 / 39 - 1.84) < 0.01
    assert [one.what for one in references([of(1), of(2)])] == ["ResNet-50", "U-Net"]
    assert len(references([of(1), of(8)])) == 3 and references([of(2), of(8)]) == []
    assert found["ResNet-50"].name == "ResNet-50, 2 GPUs (Jain 2022)"
    for one in PUBLISHED:
        assert one.source.endswith(")") and one.figures
