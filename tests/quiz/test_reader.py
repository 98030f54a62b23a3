"""Decks from YAML: good ones read as they were written, and of bad ones the first mistake of each question is told."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.quiz.decks import decks
from tests.quiz.nine import DECK, YAML
from tests.quiz.test_pictures import pixels
from workshop.core import yaml_files
from workshop.core.errors import BadInput
from workshop.quiz import reader
from workshop.quiz.deck import Deck
from workshop.quiz.reader import BadDeck, DeckProblem, dump, find, parse, read

SHORT = "deck: d\ntitle: t\nshort: [{}]\nquestions:\n- {{id: one-id, type: text, text: x, accept: [x]}}\n"
HEAD = "deck: d\ntitle: t\nquestions:\n"


def problems(text: str, folder: Path | None = None, **more: Any) -> tuple[DeckProblem, ...]:
    with pytest.raises(BadDeck) as refused:
        parse(text, "d.yaml", folder, **more)
    lines = str(refused.value).splitlines()
    assert len(lines) == len(refused.value.problems) and all(line.startswith("d.yaml") for line in lines)
    return refused.value.problems


def question(text: str) -> str:
    """A deck with this question, which begins in line 4."""
    lines = text.strip("\n").splitlines()
    return HEAD + "\n".join(f"{'  - ' if place == 0 else '    '}{line}" for place, line in enumerate(lines)) + "\n"


def test_a_good_deck() -> None:
    assert parse(YAML, "nine.yaml") == DECK
    words = parse(question("id: a\ntype: text\ntext: hm\naccept: [off, no, 'yes', '1']"), "d.yaml")
    assert words.questions[0].accept == ("off", "no", "yes", "1"), "words are words"


@settings(max_examples=30, deadline=None)
@given(decks())
def test_what_is_written_reads_as_the_same_deck(deck: Deck) -> None:
    document = yaml_files.document(*yaml_files.compose(dump(deck)))
    assert Deck.model_validate(document) == deck
    try:
        assert parse(dump(deck), "d.yaml") == deck
    except BadDeck as error:  # these decks have names in braces, half formulas, and pictures that aren't there
        told = re.compile("is none of this|isn't shown|can't be found|formula|is the same as|counts as right|only")
        assert [problem for problem in error.problems if not told.search(problem.text)] == []
        assert all(problem.line for problem in error.problems)


# Questions with a mistake each: their type, the line of the mistake in the question, the rest of it, and what is said.
MISTAKES = [
    ("singel", 2, "text: hm", "did you mean single?"),
    (
        "text",
        3,
        'text: "{m} ${n}$"\nnumbers: {n: {values: [1]}}\naccept: [x]',
        "{m} is none of this question's numbers",
    ),
    ("text", 3, 'text: "$\\\\foo$"\naccept: [x]', "which isn't known"),
    ("text", 4, "text: hm\nnumbers: {n: {values: [1, 2]}}\naccept: [x]", "no text uses n"),
    ("single", 4, "text: hm\noptions: [{text: a, right: true}, {text: b, right: true}]", "2 of them are right"),
    (
        "single",
        4,
        "text: hm\noptions: [{text: a, feeback: x}, {text: b}]",
        "options.0 can have text, right and feedback",
    ),
    ("number", 4, "text: hm\npoints: many\nanswer: 1", "points is 'many': it should be a number"),
    ("number", 6, "text: hm\nanswer: 1\nnear:\n  - {answer: 9}", "near.0.feedback is missing"),
    ("predict", 4, "text: hm\nruns: {one: {workload: kmean}}\ntruth: one.seconds", "there is no workload 'kmean'"),
    (
        "predict",
        4,
        "text: hm\nruns: {one: {workload: kmeans, params: {pionts: 3}}}\ntruth: one.x",
        "did you mean points?",
    ),
    ("predict", 4, "text: hm\nunit: s\nkind: rank\nruns: {a: {workload: kmeans}}\ntruth: a.x", "has no unit"),
    ("place", 4, "text: hm\nmachine: 2y4\nask: [ranks]\nright: {ranks: 1}", "'2y4' is not a machine"),
    ("place", 4, "text: hm\ngiven: {mpi: intelmpi}\nask: [ranks]\nright: {ranks: 1}", "can't be asked"),
    ("place", 4, "text: hm\nask: [mapby]\nright: {ranks: 1}", "ask.0 is 'mapby'"),
    ("text", 3, 'text: "[a](b) ![x](y)"\naccept: [x]', "a picture in the text isn't shown"),
    ("text", 4, "text: hm\naccept: [All Reduce, all  reduce]", "'all  reduce' is the same as 'All Reduce' in accept"),
    ("text", 4, "text: hm\npicture: {file: ../x.png, alt: x}\naccept: [x]", "lies outside of the deck's folder"),
    ("match", 4, "text: hm\npairs: [{left: a, right: b}, {left: a, right: c}]", "'a' is there twice"),
    ("poll", 5, "text: hm\noptions: [{text: x}, {text: y}]\npoints: 3", "a poll has no points"),
]


@pytest.mark.parametrize(("kind", "line", "rest", "said"), MISTAKES)
def test_a_mistake_is_told_with_its_line(kind: str, line: int, rest: str, said: str, tmp_path: Path) -> None:
    (problem,) = problems(question(f"id: q\ntype: {kind}\n{rest}"), tmp_path)
    assert said in problem.text, problem.text
    assert (problem.line, problem.where) == (3 + line, "question q")


def test_the_first_mistake_of_each_question_is_told() -> None:
    deck = """
deck: Bad Name
tilte: x
questions:
  - {id: a, type: text, text: "{m}", accept: [x]}
  - just text
  - id: c
    type: single
    text: hm
    points: many
    options: [{text: a, right: true}, {text: b, right: true, x: 1}]
    nonsense: 1
  - {id: d, type: text, text: hm, accept: [x]}
  - {type: poll, text: hm}
""".lstrip("\n")
    assert [(problem.line, problem.where, problem.text.partition(" ")[0]) for problem in problems(deck)] == [
        (1, "", "deck"), (1, "", "title"), (2, "", "'tilte'"), (4, "question a", "{m}"), (5, "question 2", "'just"),
        (9, "question c", "points"), (13, "question 5", "id"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", None, "the file holds no deck; it should have lines like"),
        ("deck: d\n\ttitle: t\n", 2, "the file is no YAML"),
        ("deck: &x d\ntitle: *x\n", 2, "an alias (*name)"),
        ("deck: !!python/object/apply:os.system [ls]\n", 1, "could not determine a constructor"),
        ("[" * 5000, None, "nested too deeply"),
        ("deck: !!int " + "9" * 5000, None, "the file is no YAML"),
    ],
)
def test_what_is_no_deck_at_all(text: str, line: int | None, said: str) -> None:
    (problem,) = problems(text)
    assert problem.line == line and said in problem.text


def test_headings_that_are_wrong() -> None:
    found = problems("title: t\nabout: '$\\foo$ {n}'\nquestions: []\nseconds: 1\nshuffle: perhaps\n")
    assert [(problem.line, problem.text.partition(" ")[0]) for problem in found] == [
        (1, "deck"), (2, "the"), (2, "{n}"), (3, "questions"), (4, "seconds"), (5, "shuffle"),
    ]  # fmt: skip
    (several,) = problems("deck: d\ntitle: t\nquestions: {a: 1}\n")
    assert several.line == 3
    for no_list in ("60", "true", "1.5", "null", "abc", "!!int " + "9" * 4000):
        (one,) = problems(f"deck: d\ntitle: t\nquestions: {no_list}\n")
        assert one.line == 3 and one.text.startswith("questions is "), no_list
    (none,) = problems("deck: d\ntitle: t\n")
    assert none.text == "questions is missing"
    (many,) = [p for p in problems(HEAD + "  - just text\n" * 201) if "questions" in p.text]
    assert "at most 200 items" in many.text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("answer: n / (n - 3)\nnumbers: {n: {low: 1, high: 9}}", "divides by zero with n = 3"),
        ("answer: n\nnumbers: {N: {values: [1]}, n: {values: [1]}}", "'N' is no name"),
        ("answer: n\nnumbers: {n: {values: [2]}}\ntolerance: {}", "a tolerance is absolute or relative"),
        ("answer: n\nnumbers: {n: {values: [2, 3]}}\nnear: [{answer: 4 / n, feedback: x}]", "counts as right"),
    ],
)
def test_numbers_and_expressions(given: str, said: str) -> None:
    found = problems(question(f"id: q\ntype: number\ntext: '{{n}} is'\n{given}"))
    assert any(said in problem.text for problem in found), found


def test_pictures_are_looked_at(tmp_path: Path) -> None:
    given = question("id: q\ntype: text\ntext: hm\naccept: [x]\npicture: {file: a.png, alt: x}")
    (problem,) = problems(given, tmp_path)
    assert problem.line == 8 and problem.text.endswith("a.png can't be read (No such file or directory)")
    (tmp_path / "a.png").write_bytes(b"x")
    assert "can be read" in problems(given, tmp_path)[0].text
    (tmp_path / "a.png").write_bytes(pixels("PNG"))
    (tmp_path / "quiz.yaml").write_text(given)
    assert read(tmp_path / "quiz.yaml").questions[0].picture
    assert "this deck has no folder" in problems(given)[0].text


@pytest.mark.real
def test_the_mapper_is_asked_only_where_one_wants_to_know() -> None:
    given = "id: q\ntype: place\ntext: hm\nmachine: 1x4\nask: [ranks]\ngiven: {bind_to: core}\nright: {ranks: 9}"
    assert parse(question(given), "d.yaml").questions[0].right == {"ranks": 9}
    (problem,) = problems(question(given), thorough=True)
    assert problem.line == 10 and problem.text.startswith("Open MPI refuses it: ")


def test_files(tmp_path: Path) -> None:
    large, binary = tmp_path / "large.yaml", tmp_path / "binary.yaml"
    large.write_text("#" * (reader.LARGEST_DECK + 1))
    binary.write_bytes(b"deck: \xff\xfe")
    for path, said in [
        (tmp_path / "none.yaml", "the file can't be read (No such file or directory)"),
        (tmp_path, "the file can't be read (Is a directory)"),
        (large, "the file has more than 1024 kB"),
        (binary, "the file is no text"),
    ]:
        with pytest.raises(BadDeck) as refused:
            read(path)
        assert str(refused.value).startswith(f"{path}: ") and said in str(refused.value)
    (tmp_path / "bom.yaml").write_bytes(b"\xef\xbb\xbf" + YAML.replace("\n", "\r\n").encode())
    assert read(tmp_path / "bom.yaml").deck == "nine"


def test_decks_are_found_by_the_name_of_their_lab(tmp_path: Path) -> None:
    assert {"kmeans", "mnist", "sgan", "federated"} <= reader.shipped().keys()
    assert find("kmeans") == reader.shipped()["kmeans"] and find("kmeans").name == "quiz.yaml"
    (tmp_path / "own.yaml").write_text(YAML)
    assert find(str(tmp_path / "own.yaml")) == tmp_path / "own.yaml"
    with pytest.raises(BadInput, match=r"There is no deck 'kmean'; there are .* did you mean kmeans"):
        find("kmean")


@pytest.mark.real
@pytest.mark.parametrize("name", reader.shipped())
def test_decks_of_the_labs_are_good(name: str) -> None:
    deck = read(find(name), thorough=True)
    assert deck.lab == ("" if name == "survey" else name)
    assert parse(dump(deck), "d.yaml", find(name).parent) == deck


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_is_wrong_with_a_file_is_told(data: st.DataObject) -> None:
    """Lines that are missing, moved, doubled, indented otherwise, or cut off."""
    lines = YAML.splitlines()
    for _ in range(data.draw(st.integers(1, 4))):
        at, to = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        match data.draw(st.sampled_from(["drop", "move", "double", "indent", "cut", "replace"])):
            case "drop":
                del lines[at]
            case "move":
                lines.insert(to, lines.pop(at))
            case "double":
                lines.insert(to, lines[at])
            case "indent":
                lines[at] = data.draw(st.sampled_from(["", "  ", "    ", "      ", "  - "])) + lines[at].strip()
            case "cut":
                lines[at] = lines[at][: data.draw(st.integers(0, len(lines[at])))]
            case "replace":
                lines[at] = (
                    lines[at].partition(":")[0]
                    + ": "
                    + data.draw(st.sampled_from(["", "x", "3", "[x]", "{x: 1}", "~"]))
                )
    text = "\n".join(lines)
    try:
        assert isinstance(parse(text, "d.yaml"), Deck)
    except BadDeck as error:
        assert error.problems and all(problem.text and "\n" not in problem.text for problem in error.problems)
        assert all(problem.line is None or 1 <= problem.line <= len(lines) + 1 for problem in error.problems)


def test_a_short_deck_names_questions() -> None:
    assert parse(SHORT.format("one-id"), "d.yaml").short == ("one-id",)
    (problem,) = problems(SHORT.format("on-id"))
    assert (problem.line, problem.text) == (3, "'on-id' is the id of no question; did you mean one-id?")
    assert [fault.text for fault in problems(SHORT.format("one-id, one-id"))] == ["the id 'one-id' is there twice"]
    assert problems(SHORT.format("").replace("[]", "one-id"))[0].text == "short is 'one-id': it should be a list"
