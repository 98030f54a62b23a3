"""`workshop quiz results` and `workshop quiz forget`, on a store with two rounds."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import openpyxl
import pytest

from tests.quiz.results.kept import keep
from tests.quiz.results.rounds import whole_class
from workshop.cli.main import run
from workshop.store.store import Store

LEARNERS = 9


@pytest.fixture
def rounds(store: Store) -> tuple[int, int]:
    people = {
        player.nickname: store.add_identity("player", player.nickname, player.nickname)
        for player in whole_class(LEARNERS).players
    }
    return keep(store, whole_class(LEARNERS, 5), people).id, keep(store, whole_class(LEARNERS), people).id


def test_results_are_a_document(rounds: tuple[int, int], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["quiz", "results", str(rounds[1]), "--anonymous", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["players"] == len(told["learners"]) == LEARNERS
    assert {one["nickname"] for one in told["learners"]} == {f"learner-{n}" for n in range(1, LEARNERS + 1)}
    assert [one["id"] for one in told["questions"]] == ["world", "sum", "true", "like", "steps", "who", "word"]
    assert told["files"] == []


def test_files_are_written_and_not_written_over(
    rounds: tuple[int, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {ending: tmp_path / f"round.{ending}" for ending in ("csv", "xlsx", "html")}
    options = [word for ending, path in files.items() for word in (f"--{ending}", str(path))]
    this = str(rounds[1])
    assert run(["quiz", "results", this, *options]) == 0
    assert capsys.readouterr().out.splitlines() == [str(path) for path in files.values()]
    with open(files["csv"], encoding="utf-8-sig", newline="") as file:
        assert len(list(csv.DictReader(file))) == LEARNERS * 7
    assert openpyxl.load_workbook(files["xlsx"]).sheetnames == ["Questions", "Learners", "Answers"]
    assert files["html"].read_text().startswith("<!doctype html>")
    files["csv"].write_text("mine")
    assert run(["quiz", "results", this, *options]) == 2
    assert "there already" in capsys.readouterr().err
    assert files["csv"].read_text() == "mine"
    assert run(["quiz", "results", this, "--csv", str(files["csv"]), "--overwrite", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == [str(files["csv"])]
    assert run(["quiz", "results", this, "--html", str(tmp_path), "--overwrite"]) == 2
    assert run(["quiz", "results", this, "--html", str(tmp_path / "no" / "page.html")]) == 2
    assert "can't be written" in capsys.readouterr().err


def test_what_is_not_there_is_one_sentence(rounds: tuple[int, int], capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["results", "99"],
        ["results", "1", "--gradebook", "ilias"],
        ["forget", "99", "Ada"],
        ["forget", "1", "Al"],
    ):
        assert run(["quiz", *words]) == 2
        told = capsys.readouterr()
        assert (told.out, told.err.count("\n")) == ("", 1)


def test_somebody_is_forgotten_once_it_is_meant(
    store: Store, rounds: tuple[int, int], capsys: pytest.CaptureFixture[str]
) -> None:
    this = rounds[1]
    assert run(["quiz", "forget", str(this), "Grace"]) == 2
    assert "add --yes to do so" in capsys.readouterr().err
    assert len(store.players(this)) == LEARNERS
    assert run(["quiz", "forget", str(this), "Grace", "--yes", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["round"], told["nickname"]) == (this, "Grace")
    assert told["removed"] > 0
    assert "Grace" not in {player.nickname for player in store.players(this)}
    assert not [answer for answer in store.answers(this) if answer.nickname == "Grace"]


def test_grades_are_written_for_a_gradebook(
    rounds: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["quiz", "results", str(rounds[1]), "--gradebook", "canvas"]) == 0
    assert capsys.readouterr().out == "ranks-round-2.grades-canvas.csv\n"
    with open("ranks-round-2.grades-canvas.csv", encoding="utf-8-sig", newline="") as file:
        points, *grades = csv.DictReader(file)
    assert (points["Student"], points["Ranks and their cores"]) == ("Points Possible", "7.0")
    assert len(grades) == LEARNERS
    assert run(["quiz", "results", str(rounds[1]), "--gradebook", "canvas"]) == 2, "nothing is written over"
