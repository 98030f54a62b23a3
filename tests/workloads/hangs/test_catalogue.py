"""The catalogue of hangs with real ranks below `workshop watch`: each is named right, and no good program is a hang."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import hangs
from tests.support import limit
from workshop.cli.main import run
from workshop.core import config
from workshop.core.errors import BadInput
from workshop.workloads.hangs.diagnosis import FIXES
from workshop.workloads.hangs.examples import WatchExample, environment, example, examples
from workshop.workloads.hangs.outcome import Outcome

WORKSHOP = str(Path(sys.prefix) / "bin" / "workshop")
NAMES = sorted(examples())
GROUPS = [NAMES[start : start + 13] for start in range(0, len(NAMES), 13)]
QUICK = [
    "continue-skips-sum", "explicit-finalize", "fence", "file-written-by-some", "group-without-member",
    "one-of-two-requests", "order-of-calls", "persistent-request", "raised", "results-counted-wrong",
    "root-of-reduce", "rows-and-columns", "send-and-receive-in-circle", "sum-of-other-size", "tag-by-step",
]  # fmt: skip
SHORT = ["communicators", "many-messages", "parallel-file", "persistent-requests", "requests-late", "slow-rank"]


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
    hangs = examples()
    assert len(hangs) >= 50
    assert len({hang.title for hang in hangs.values()}) == len(hangs)
    for hang in hangs.values():
        assert hang.title.endswith(".") and hang.kind in FIXES and hang.ranks, hang.name
        assert max(hang.ranks) < hang.size, hang.name


def test_good_programs_name_no_cause() -> None:
    assert len(examples("good")) >= 15
    assert {(program.kind, program.ranks) for program in examples("good").values()} == {("", ())}


@pytest.mark.real
def test_hangs_are_named_right() -> None:
    assert wrong(QUICK) == []


@pytest.mark.exhaustive
@pytest.mark.real
@pytest.mark.parametrize("names", GROUPS, ids=lambda names: names[0])
def test_all_hangs_are_named_right(names: list[str]) -> None:
    assert wrong(names) == []


@pytest.mark.real
def test_good_programs_are_no_hangs() -> None:
    assert wrong(SHORT, "good") == []


@pytest.mark.exhaustive
@pytest.mark.real
def test_all_good_programs_are_no_hangs() -> None:
    assert wrong(sorted(examples("good")), "good") == []


@pytest.mark.real
def test_an_example_is_watched(tmp_path: Path) -> None:
    command = [WORKSHOP, "watch", "--after", "1", "--end", "--example", "receives-in-circle"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(str(tmp_path)), input="", capture_output=True, text=True,
        timeout=limit(60),
    )  # fmt: skip
    assert done.returncode == 1
    assert "Ranks 0 and 1 wait for each other" in done.stderr


def test_the_examples_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["watch", "--examples", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {row["name"]: row["title"] for row in listed} == {hang.name: hang.title for hang in examples().values()}


@pytest.mark.parametrize(
    "words, text",
    [
        (["watch", "--example", "no-such-hang"], "There is no example no-such-hang"),
        (["watch", "--example", "raised", "--", "true"], "an example and a command"),
    ],
)
def test_a_wrong_example_is_refused(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 2
    assert text in capsys.readouterr().err


@pytest.mark.parametrize("text", ['"""A title."""\n', "# Ranks to start: two\n", "# Ranks to start: 2\n# Ranks: a\n"])
def test_a_program_without_its_comments_is_refused(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "failures" / "hangs").mkdir(parents=True)
    (tmp_path / "failures" / "hangs" / "work.py").write_text(text)
    monkeypatch.setattr(config, "labs_folder", lambda: tmp_path)
    with pytest.raises(BadInput, match=r"work\.py needs the comments"):
        example("work")


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
