"""The rules of verdicts.yaml: made-up studies reach each of them, and all of their texts can be written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.study.grid.test_verdict import cell
from tests.study.scaling.test_efficiency import CASES
from workshop.report.rules import Rule, holding
from workshop.study import verdicts
from workshop.study.grid.kind import verdict
from workshop.study.scaling.efficiency import compared
from workshop.study.scaling.kind import scaling_verdict


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> list[Rule]:
    """The rules that gave a verdict, in their order."""
    rules: list[Rule] = []

    def watched(chosen: Any, facts: Any) -> Iterator[Any]:
        for rule, finding in holding(chosen, facts):
            rules.append(rule)
            assert all(text == "" or "{{" not in text for text in (finding.verdict, finding.why, finding.following))
            yield rule, finding

    monkeypatch.setattr(verdicts, "holding", watched)
    return rules


def test_each_rule_of_grids(reached: list[Rule]) -> None:
    slow, fast, faster = (100.0, 101.0, 102.0), (200.0, 204.0, 202.0), (203.0, 206.0, 205.0)
    failed = cell(2, 2, status="failed", why="no room.")
    for cells in (
        [cell(1, 1, *slow)],
        [failed],
        [cell(1, 1)],
        [cell(1, 1, *slow), cell(2, 1, 999.0)],
        [cell(1, 1, *fast), cell(2, 1, *faster)],
        [cell(1, 1, *slow), cell(1, 2, *fast), cell(2, 1, *faster)],
        [cell(1, 1, *slow), cell(2, 1, *fast)],
    ):
        verdict(cells, "images/s", True, "workshop run it")
    seeds = {"seeds": 5, "better": 5, "mean": 3.0, "error": 0.5, "seeds_agree": True}
    pair = [cell(1, 1, *fast), cell(2, 1, *faster)]
    said = verdict(pair, "images/s", True, "workshop run it", rival=pair[0], **seeds)
    assert said["next"] == "Use it: workshop run it" and "5 of 5 times" in said["why"]
    assert {rule for rule in reached} == {rule for rule in verdicts.read("grid").rules}


def test_each_rule_of_scaling_studies(reached: list[Rule]) -> None:
    for rows, _, _ in CASES.values():
        scaling_verdict(compared(rows), weak=False)
    own_rules = verdicts.read("scaling").rules[3:]  # behind those of too little
    assert {rule for rule in reached} >= {rule for rule in own_rules}


def test_each_rule_of_the_tuner(reached: list[Rule]) -> None:
    pair = [cell(1, 1, 100.0, 101.0, 102.0), cell(2, 1, 200.0, 204.0, 202.0)]
    naive, best = pair
    usual = {"measured": None, "usual": best, "naive": naive, "best": best, "differ": True, "sure": True, "reason": ""}
    gain = {"ratio": 2.0, "low": 1.96, "high": 2.04, "tried": 2, "possible": 76, "spent": 60.0, "ended": ["1 failed"]}
    common = verdicts.facts(pair, "images/s", True) | usual | gain
    for changed in ({}, {"best": None}, {"naive": None, "differ": False}, {"ratio": 0.9}, {"sure": False}):
        said = verdicts.verdict("tune", common | changed)
    assert "2 of 76 possible placements were tried in 60 s of runs; 1 failed." in said["why"]
    own_rules = verdicts.read("tune").rules[-5:]
    assert reached == [own_rules[at] for at in (4, 0, 1, 2, 3)]
