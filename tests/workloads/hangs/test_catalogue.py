"""The catalogue of hangs with real ranks below `workshop watch`: each is named right, and no good program is a hang."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import hangs
from benchmarks.hangs import Outcome
from workshop.core.errors import BadInput
from workshop.workloads.hangs.diagnosis import KINDS
from workshop.workloads.hangs.examples import WatchExample, example, examples

HANGS = examples()
OF_EACH_KIND = {hang.kind: name for name, hang in HANGS.items()}
SHORT = ["communicators", "many-messages", "overlap", "persistent-requests", "requests-late", "slow-rank"]


def wrong(names: list[str], folder: str = "hangs") -> list[str]:
    """Run programs of a folder at once; returns what was named wrongly, and the good programs that were ended."""
    chosen = [examples(folder)[name] for name in names]
    seen = list(hangs.outcomes(chosen, after=1, workers=6))
    assert len(seen) == len(names)
    return [
        f"{outcome.example.name}: {outcome.describe()}"
        for outcome in seen
        if (outcome.false_alarm if folder == "good" else not outcome.right)
    ]


def test_every_hang_says_what_is_wrong() -> None:
    assert len({hang.title for hang in HANGS.values()}) == len(HANGS) == 28
    for hang in HANGS.values():
        assert hang.title.endswith(".") and hang.kind in KINDS and hang.ranks, hang.name
        assert max(hang.ranks) < hang.size, hang.name


def test_good_programs_name_no_cause() -> None:
    assert len(examples("good")) >= 15
    assert {(program.kind, program.ranks) for program in examples("good").values()} == {("", ())}


@pytest.mark.real
def test_a_hang_of_each_kind_is_named_right() -> None:
    assert wrong([*OF_EACH_KIND.values()]) == []


@pytest.mark.real
def test_good_programs_are_no_hangs() -> None:
    assert wrong(SHORT, "good") == []


def test_an_unknown_example_is_refused_with_those_there_are() -> None:
    with pytest.raises(BadInput, match="There is no example no-such-hang; take one of barrier-in-branch, "):
        example("no-such-hang")


def outcome(kind: str, ranks: tuple[int, ...], named: str, named_ranks: list[int], seconds: float) -> Outcome:
    program = WatchExample(f"{kind or 'good'} {named}", Path("work.py"), "A title.", 3, kind, ranks)
    hang = named not in ("computing", "sleeping")
    return Outcome(program, [{"kind": named, "ranks": named_ranks, "hang": hang, "seconds": seconds}])


def test_the_figures_of_the_bench() -> None:
    seen = [
        outcome("ended", (1, 2), "ended", [1, 2], 2.5),
        outcome("lock", (1,), "lock", [1], 3.5),
        outcome("raised", (1,), "raised", [2], 9.0),
        outcome("", (), "sleeping", [1], 2.2),
        outcome("", (), "lock", [0], 2.2),
    ]
    document = hangs.told([*seen, Outcome(seen[-1].example, [])])
    assert document["ratios"] == {"named_right": 2 / 3, "median_seconds": 3.0, "false_alarms": 1}
    rows = {row["name"]: row for row in document["rows"]}
    assert rows["named_right"]["unit"] == "of 3 hangs" and "3 runs" in rows["false_alarms"]["unit"]
    assert rows["raised raised"]["note"] == "named raised 2; right is raised 1"
    assert rows["good lock"]["note"] == "named lock 0; right is no hang"
    assert "good sleeping" not in rows
