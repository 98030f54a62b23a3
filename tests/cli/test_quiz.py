"""`workshop quiz` with decks and files, as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workshop.cli.main import run

DECK = """\
deck: two
title: Two questions
questions:
  - id: root
    type: single
    text: Who has the *data*?
    options:
      - text: The root
        right: true
        feedback: So it is.
      - text: All ranks
  - id: steps
    type: order
    text: In which order?
    items: [init, compute, finalise]
  - id: guess
    type: predict
    text: How fast?
    runs: {one: {workload: kmeans}}
    truth: one.seconds
"""


@pytest.fixture
def deck(tmp_path: Path) -> Path:
    file = tmp_path / "two.yaml"
    file.write_text(DECK)
    return file


def said(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> str:
    ended = run(["quiz", *map(str, words)])
    found = capsys.readouterr()
    assert ended == code, found.err
    return found.out if code == 0 else found.err


@pytest.mark.real
def test_every_problem_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path, deck: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(DECK.replace("right: true", "right: false").replace("[init, compute, finalise]", "[init]"))
    assert run(["quiz", "check", str(deck), str(bad), str(tmp_path / "none.yaml"), "--json"]) == 2
    found = capsys.readouterr()
    good, wrong, missing = json.loads(found.out)
    assert good["deck"] == "two" and good["problems"] == []
    assert {problem["where"] for problem in wrong["problems"]} == {"question root", "question steps"}
    assert all(problem["line"] for problem in wrong["problems"]) and len(missing["problems"]) == 1
    assert f"{bad}, line" in found.err
    assert "3 questions, nothing is wrong" in said(capsys, "check", deck)
    refused = "{id: p, type: place, text: hm, machine: 1x4, ask: [ranks], given: {bind_to: core}, right: {ranks: 9}}"
    bad.write_text(f"deck: d\ntitle: t\nquestions:\n- {refused}\n")
    assert "question p: Open MPI refuses it" in said(capsys, "check", bad, code=2), "the mapper is asked"


def test_a_deck_is_shown_without_its_answers(capsys: pytest.CaptureFixture[str], deck: Path) -> None:
    shown = said(capsys, "show", deck)
    assert "Who has the data?" in shown and "So it is" not in shown and "*" not in shown
    assert shown.index("init") != -1 and "1. init" not in shown
    assert "* a) The root" in said(capsys, "show", deck, "--answers")
    document = json.loads(said(capsys, "show", deck, "--json"))
    root, steps, guess = document["questions"]
    assert sorted(option["html"] for option in root["options"]) == ["<p>All ranks</p>", "<p>The root</p>"]
    assert "right" not in str(root) and [item["key"] for item in steps["items"]] == ["a", "b", "c"]
    assert "truth" not in guess
    assert json.loads(said(capsys, "show", deck, "--answers", "--json"))["questions"][0]["options"][0]["right"]


def test_out_and_in(capsys: pytest.CaptureFixture[str], tmp_path: Path, deck: Path) -> None:
    file, made = tmp_path / "x.gift", tmp_path / "back.yaml"
    assert run(["quiz", "export", str(deck), "--out", str(file), "--json"]) == 0
    found = capsys.readouterr()
    assert ("guess", "question") in {(one["question"], one["part"]) for one in json.loads(found.out)["lost"]}
    assert "Lost: guess: a prediction, whose answer is measured" in found.err
    assert said(capsys, "import", file, "--out", made) == f"{made}\n"
    assert "nothing is wrong" in said(capsys, "check", made)
    assert "is there already; give another name, or --overwrite" in said(capsys, "import", file, "--out", made, code=2)


def test_what_has_to_be_mended_in_an_import_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "q.gift"
    file.write_text("::a::Which?{=yes =YES}")
    assert run(["quiz", "import", str(file), "--json"]) == 0
    found = capsys.readouterr()
    (problem,) = json.loads(found.out)["problems"]
    assert problem["where"] == "question a" and problem["text"].startswith("'YES' is the same as 'yes'")
    assert "To be mended before the deck can be used:\nThe deck, line " in found.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["export", "nothing"], "no deck 'nothing'"),
        (["export", "{deck}", "--out", "/nowhere/x"], "can't be written"),
        (["import", "{deck}"], "has no question that a deck can hold"),
    ],
)
def test_bad_input_is_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, deck: Path, words: list[str], sentence: str
) -> None:
    told = said(capsys, *(word.format(deck=deck, tmp=tmp_path) for word in words), code=2)
    assert sentence in told and len(told.strip().splitlines()) == 1
