"""Cards of studies' reports: which figure a study gets, its best cell with its command, runs as links."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.study import seed as scaling_seed
from tests.study.cards import seed
from tests.study.tune import cases
from tests.study.tune import seed as tune_seed
from tests.web import seed as class_seed
from workshop.report import html
from workshop.report.cards import Card
from workshop.store.records import SessionRecord, StudyRecord
from workshop.store.store import Store
from workshop.study.cards import cards
from workshop.study.grid.kind import command_of
from workshop.study.kinds import report
from workshop.study.results import results


@pytest.fixture
def session(store: Store) -> SessionRecord:
    return class_seed.session(store)


def shown(store: Store, study: StudyRecord) -> dict[str, Card]:
    found = cards(report(store, store.study(study.id)))
    drawn = sum(part["kind"] == "figure" for card in found for part in card.parts)
    assert len(json.loads(html.live(found))["figures"]) == drawn
    assert len({card.name for card in found}) == len(found)
    return {card.name: card for card in found}


def part(card: Card, kind: str) -> Any:
    return next(part for part in card.parts if part["kind"] == kind)


def text(card: Card) -> str:
    return "\n".join(line["text"] for part in card.parts if part["kind"] == "words" for line in part["lines"])


def links(row: Any) -> list[str]:
    return [link["url"] for cell in row if not isinstance(cell, str) for link in cell["links"]]


def test_a_scaling_study(store: Store, session: SessionRecord) -> None:
    found = shown(store, scaling_seed.study(store, session))
    assert list(found) == ["verdict", "speed-up", "throughput", "figures", "runs"]
    assert "Oversubscribed: 4 ranks on 2 cores" in text(found["verdict"])
    assert [row[1] for row in part(found["figures"], "table")["rows"]] == ["5,200", "9,900", "8,200"]
    assert "334.0 images/s on one V100" in text(found["figures"])
    rows = part(found["runs"], "table")["rows"]
    assert [links(row) for row in rows] == [[f"run?run={number}"] for number in range(1, 10)]


def test_one_axis_of_numbers_is_a_line(store: Store, session: SessionRecord) -> None:
    rates = {1: 500.0, 2: 900.0, 4: seed.FAILED}
    study = seed.grid(store, session, {"threads": [4, 1, 2]}, lambda point: rates[point["threads"]], repeats=3)
    found = shown(store, study)
    drawn = part(found["grid"], "figure")
    medians = drawn["figure"].data[0]
    assert (list(medians.x), list(medians.y)) == ([1, 2], [510.0, 918.0])
    picks = [drawn["picks"][place] for place in medians.customdata]
    assert [pick["title"] for pick in picks] == ["1 thread", "2 threads"], "a mark stands for its own cell"
    assert len(picks[0]["runs"]) == 3
    assert store.run(picks[0]["runs"][0]).metrics["images_per_second"] == 510.0, "the one in the middle comes first"
    assert part(found["best"], "code")["text"] == "workshop run mnist --batch 32 --ranks 2 --threads 2"
    rows = part(found["cells"], "table")["rows"]
    assert [row[0] for row in rows] == ["2", "1", "4"], "the fastest first, what failed last"
    assert rows[0][3] == "100 %"
    assert seed.WHY in rows[2][-1]


def test_an_executive_summary_has_each_environment_with_its_settings_and_speed(
    store: Store, session: SessionRecord
) -> None:
    rates = {"0": 3.84, "1": 17.69, "2": seed.FAILED}
    axes = {"env.TF_ENABLE_ONEDNN_OPTS": [0, 1, 2]}
    study = seed.grid(store, session, axes, lambda point: rates[point["env.TF_ENABLE_ONEDNN_OPTS"]], summary=["batch"])
    found = shown(store, study)
    assert list(found)[:2] == ["verdict", "summary"]
    summary = part(found["summary"], "table")
    assert summary["headings"] == ["Environment", "Batch", "Median images/s", "Against the first"]
    assert summary["rows"] == [
        ["TF_ENABLE_ONEDNN_OPTS=0", "32", "3.84", "1.00×"],
        ["TF_ENABLE_ONEDNN_OPTS=1", "32", "17.7", "4.61×"],
        ["TF_ENABLE_ONEDNN_OPTS=2", "32", "–", "–"],
    ]


def test_one_axis_of_words_is_bars_against_what_is_unset(store: Store, session: SessionRecord) -> None:
    axes = {"env.KMP_BLOCKTIME": ["few", None, "many"]}
    study = seed.grid(store, session, axes, lambda point: 500.0 if point["env.KMP_BLOCKTIME"] else 400.0)
    drawn = part(shown(store, study)["grid"], "figure")["figure"]
    assert "400 · baseline" in drawn.data[0].text[1]
    assert [shape.x0 for shape in drawn.layout.shapes] == [400.0]


def test_two_axes_are_a_heat_map(store: Store, session: SessionRecord) -> None:
    def rate(point: Any) -> float:
        return {(2, 1): 900.0, (1, 2): seed.FAILED, (2, 2): seed.PRUNED}.get((point["ranks"], point["threads"]), 500.0)

    found = shown(store, seed.grid(store, session, {"ranks": [1, 2], "threads": [1, 2]}, rate))
    drawn = part(found["grid"], "figure")
    assert [list(row) for row in drawn["figure"].data[0].z] == [[500.0, 900.0], [None, None]]
    assert [pick["title"] for pick in drawn["picks"]][2] == "2 ranks, 1 thread"
    assert drawn["picks"][3]["text"] == f"Pruned: {seed.HOPELESS}"
    assert drawn["picks"][3]["runs"], "what was pruned has a run to look at, too"
    assert "pruned at 40" in [row[2] for row in part(found["cells"], "table")["rows"]]
    assert "cross" in text(found["grid"]) and "Hatched" in text(found["grid"])


def test_of_many_axes_the_two_that_mattered_most(store: Store, session: SessionRecord) -> None:
    axes = {"exchange": ["mpi", "auto"], "ranks": [1, 2], "threads": [1, 2]}
    study = seed.grid(store, session, axes, lambda point: 100.0 * point["ranks"] ** 2 * (1 + point["threads"] / 9))
    found = shown(store, study)
    drawn = part(found["grid"], "figure")["figure"]
    assert (drawn.layout.xaxis.title.text, drawn.layout.yaxis.title.text) == ("ranks", "threads")
    assert "best over exchange" in text(found["grid"])
    rows = part(found["effects"], "table")["rows"]
    assert rows[0] == ["ranks", "2", "1", "4.00×"]
    assert rows[2] == ["exchange", "–", "–", "can't tell"]


@pytest.mark.parametrize("ended", [0, 1])
def test_a_study_that_has_hardly_begun(store: Store, session: SessionRecord, ended: int) -> None:
    study = seed.grid(store, session, {"ranks": [1, 2], "threads": [1, 2]}, lambda _: 500.0, ended=ended)
    found = shown(store, study)
    assert ("best" in found) == bool(ended)
    store.leave_study(study.id, "seed")
    following = "Resume it: some of its runs are missing." if ended else "Start it: it has no run yet."
    assert following in text(shown(store, study)["verdict"])


def test_a_kind_that_nobody_knows(store: Store, session: SessionRecord) -> None:
    found = shown(store, seed.grid(store, session, {"ranks": [1, 2]}, lambda _: 500.0, kind="<i>newer</i>"))
    assert list(found) == ["verdict", "runs"]
    assert "of the kind <i>newer</i>" in text(found["verdict"])
    assert len(part(found["runs"], "table")["rows"]) == 2


def test_a_search(store: Store, session: SessionRecord) -> None:
    asked = cases.asked()

    def speed(point: Any) -> float | str:
        if point["ranks"] == 4:
            return "MemoryError"
        return 500.0 * point["ranks"] / (1 if point["exchange"] == "mpi" else 2)

    found = shown(store, tune_seed.study(store, session, asked, speed))
    line, trials, failed = part(found["search"], "figure")["figure"].data
    assert list(line.y) == sorted(line.y) and line.y[-1] == 1000.0
    assert "exchange" in str(part(found["effects"], "table")["rows"])
    picks = part(found["search"], "figure")["picks"]
    assert [picks[place]["text"].split(" ")[0] for place in failed.customdata] == ["Failed:"] * len(failed.x) != []
    assert all("images/s in" in picks[place]["text"] for place in trials.customdata)
    best, launcher = [one["text"] for one in found["best"].parts if one["kind"] == "code"]
    assert best.startswith("workshop run mnist") and "--ranks 2" in best and "--exchange mpi" in best
    assert "--steps" not in best, "trials are short, real runs are not"
    assert launcher.startswith("mpirun")
    assert "MemoryError" in str(part(found["cells"], "table")["rows"])


def test_paths_on_the_server_are_nobodys_business(store: Store, session: SessionRecord) -> None:
    study = seed.grid(store, session, {"ranks": [1, 2]}, lambda _: 500.0)
    (cell, *_) = results(store.trials(study.id), {}, "")
    told = command_of("mnist", replace(cell, params={**cell.params, "data": "/home/ada/secret/digits.npz"}))
    assert told and "secret" not in told
    assert command_of("nowhere", cell) == ""
