"""The bench of federations, short but real: our own ranks, and what more institutions cost on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from workshop.core.errors import BadInput, WorkshopError
from workshop.workloads.openfl import bench, environment

SMALL = {"data": "digits", "images": 300, "model": "dense", "partition": "iid", "rounds": 2, "epochs": 1}


@pytest.mark.exhaustive
@pytest.mark.real
def test_our_ranks_and_many_institutions_on_them(workshop_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "IMAGES", 640)
    monkeypatch.setattr(bench, "ROUNDS", 2)
    turns: list[tuple[int, int]] = []
    document = bench.run(1, institutions=(8,), same=SMALL, progress=lambda *turn: turns.append(turn))
    assert turns == [(0, 2), (1, 2), (2, 2)]
    rows = {row["name"]: row for row in document["rows"]}
    assert rows["openfl_round"]["value"] is None, "nothing takes its place"
    assert "workshop federation install" in rows["openfl_round"]["note"]
    assert 0 < rows["session_round"]["value"] < rows["session_run"]["value"]
    assert rows["session_round"]["institutions"] == 3
    assert rows["institutions_8_round"]["value"] > 0
    assert rows["institutions_8_memory"]["value"] > 1e8, "TensorFlow alone has more"
    about = {name: rows["institutions_8_round"][name] for name in ("institutions", "per_rank", "images")}
    ranks = rows["institutions_8_round"]["ranks"]
    assert about == {"institutions": 8, "per_rank": -(-8 // ranks), "images": 640}
    assert document["ratios"] == {}
    assert document["machine"]["same"] == SMALL
    assert not (workshop_home / "workshop.db").exists(), "the bench is nobody's history"


def came(**changes: Any) -> dict[str, Any]:
    institutions = [{"images": 100}, {"images": 80}]
    told = {"parameters": 10, "rounds": 5, "institutions": institutions, "seconds_per_round": 0.5, "whole": 12.0}
    return told | {"held_out_accuracy": 0.9, "memory": [500, 400]} | changes


def test_ratios_are_of_turns_that_followed_each_other() -> None:
    theirs = [came(seconds_per_round=each, whole=120.0) for each in (2.5, 5.0, 3.0)]
    results = {"session": [came()] * 3, "openfl": theirs, "institutions_2": [came()] * 3}
    results["institutions_64"] = [came(memory=[600, 550], seconds_per_round=0.75)] * 3
    document = bench._document({}, results, [], (2, 64))
    ratios = {"openfl_per_round": 6.0, "openfl_whole": 10.0, "memory_64_vs_2": 1.2, "cost_64_vs_2": 1.5}
    assert document["ratios"] == pytest.approx(ratios)
    assert document["intervals"]["openfl_per_round"] == pytest.approx([5.0, 10.0])
    rows = {row["name"]: row["value"] for row in document["rows"]}
    assert rows["openfl_round"] == 3.0
    assert rows["session_run"] == 12.0
    assert rows["institutions_64_memory"] == 600


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"parameters": 11}, "differ in parameters"),
        ({"rounds": 4}, "differ in rounds"),
        ({"institutions": [{"images": 100}, {"images": 81}]}, "different numbers of images"),
    ],
)
def test_contenders_have_to_do_the_same(changes: dict[str, Any], wrong: str) -> None:
    bench._check([came(), came()])
    with pytest.raises(WorkshopError, match=wrong):
        bench._check([came(), came(**changes)])


def test_numbers_of_institutions_are_read_and_give_whole_batches() -> None:
    assert bench.read_institutions("64, 2,8") == (2, 8, 64)
    for number in bench.INSTITUTIONS:
        assert bench.IMAGES * (1 - bench.VALIDATION) % (number * bench.BATCH) == 0
    for wrong in ("", "0", "3", "-2", "two", "2,,4", "128"):
        with pytest.raises(BadInput, match="it should be some of 1, 2, 4, 8, 16, 32, 64"):
            bench.read_institutions(wrong)


def test_openfl_is_found_from_the_state_folder_of_a_bench(
    workshop_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = environment.folder() / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    theirs = environment.installed()
    monkeypatch.setenv("WORKSHOP_HOME", str(tmp_path / "other"))
    assert environment.installed() is None
    bench.link_environment(theirs)
    assert environment.installed() is not None
