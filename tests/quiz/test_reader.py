"""Decks from YAML: good ones read as they were written, and all that is wrong in bad ones is told at once, by line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.quiz.decks import decks
from tests.quiz.nine import DECK, YAML
from tests.quiz.test_pictures import pixels
from workshop.core import yaml_files
from workshop.core.errors import BadInput
from workshop.quiz import reader, types
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
    document = yaml_files.document(*yaml_files.compose(dump(deck), reader.DEEPEST))
    assert Deck.model_validate(document) == deck
    try:
        assert parse(dump(deck), "d.yaml") == deck
    except BadDeck as error:  # these decks have names in braces, half formulas, and pictures that aren't there
        told = (
            "is none of this",
            "isn't shown",
            "can't be found",
            "formula",
            "is the same as",
            "counts as right",
            "only",
        )
        assert [problem for problem in error.problems if not any(part in problem.text for part in told)] == []
        assert all(problem.line for problem in error.problems)


# A deck in which nearly everything is wrong, and for each line what should be said of it.
BAD = """
deck: Bad Name  # small letters, digits and hyphens
tilte: x  # did you mean title?
questions:  #
  - id: a  #
    type: singel  # did you mean single?
    text: "{m} $\\\\foo$"  # {m} is none of this question's numbers; they are n | which isn't known
    numbers: {n: {values: [1, 2]}}  # no text uses n
    options:  # 2 of them are right; a single choice has one
      - {text: a, right: true, feeback: x}  # 'feeback' is not allowed here; options.0 can have text, right and feedback
      - {text: b, right: true}  #
  - id: a  # id 'a' is already that of question 1
    type: number  #
    text: "{n} {k}"  #
    points: many  # points is 'many': it should be a number
    numbers: {n: {low: 0, high: 4}, k: {values: []}}  # numbers.k: a number is given as values, or as low and high
    answer: 4 / (n - 2)  # divides by zero with n = 2
    answr: 3  # did you mean answer?
    near:  #
      - {answer: 4/(n-2)*1, feedback: x}  # divides by zero with | counts as right: the answer is -2
      - {answer: q, feedback: x}  # 'q' names q, which is not known
      - {answer: [1], feedback: x}  # near.2.answer is [1]: it should be a number, or text
      - {answer: 1000}  # near.3.feedback is missing
  - id: p  #
    type: predict  #
    text: hm  #
    unit: s  # a rank's number has no unit
    kind: rank  #
    runs:  #
      one: {workload: kmean, placement: {ranks: 0}}  # there is no workload 'kmean' | runs.one.placement: ranks is 0
      two: {workload: kmeans, params: {pionts: 3, clusters: 0}}  # did you mean points? | clusters is 0
    truth: one.seconds / three.seconds  # names three, which is not known; it should be one of one, two
  - just text  # 'just text' is no question
  - id: pl  #
    type: place  #
    text: hm  #
    machine: 2y4  # '2y4' is not a machine
    given: {mpi: intelmpi, bind_to: nothing}  # can't be asked | given: bind_to is 'nothing'
    ask: [ranks, map_by, mapby]  # ask.2 is 'mapby'
    right: {ranks: 4000, map_by: here, bind_to: x}  # bind_to should be in ask | map_by is 'here' | ranks is 4000
  - id: t  #
    type: text  #
    text: "[a](b) ![x](y)"  # a picture in the text isn't shown
    accept: [All Reduce, all  reduce]  # 'all  reduce' is the same as 'All Reduce' in accept
    near: [{accept: [ALL REDUCE], feedback: x}]  # 'ALL REDUCE' is the same as 'All Reduce' in accept
    picture: {file: ../x.png, alt: x}  # lies outside of the deck's folder
    check: "x ="  # check is no Python
  - id: m  #
    type: match  #
    text: 4  #
    text: 5  # 'text' is there twice, first in line 49 | text is 5: it should be text, in quotes
    pairs: [{left: a, right: b}, {left: a, right: "{z}"}]  # 'a' is there twice | {z} is none of this question's
  - id: o  #
    type: multiple  #
    text: hm  #
    options: [{text: x}, {text: x}]  # the option 'x' is there twice | none of them is right
  - id: w  #
    type: poll  #
    text: hm  #
    options: [{text: x}, {text: y}]  #
    points: 3  # a poll has no points
    check: x = 1  # check leaves no `answer`
  - {id: v, text: hm}  # type is missing; it should be one of single, multiple
  - {id: u, type: order, text: " ", items: [x]}  # text is empty | items is ['x']: it should have at least 3 items
""".lstrip("\n")


def test_every_problem_is_told_at_once_with_its_line(tmp_path: Path) -> None:
    found = problems(BAD, tmp_path)
    wanted: list[tuple[int, str]] = [(1, "title is missing")]
    for number, line in enumerate(BAD.splitlines(), 1):
        wanted += [(number, part.strip()) for part in line.rpartition("  #")[2].split(" | ") if part.strip()]
    for line, part in wanted:
        at = [problem.text for problem in found if problem.line == line]
        assert any(part in text for text in at), (line, part, at)
    more = [problem for problem in found if not any(p in problem.text and n == problem.line for n, p in wanted)]
    assert more == [], "nothing else is said"
    assert {problem.where for problem in found if problem.line == 5} == {"question a"}
    (fourth,) = [problem for problem in found if "is no question" in problem.text]
    assert fourth.where == "question 4"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", None, "the file holds no deck; it should have lines like"),
        ("- a\n- b", None, "the file holds no deck"),
        ("deck: d\n\ttitle: t\n", 2, "the file is no YAML"),
        ("deck: [d\n", 2, "the file is no YAML"),
        ("deck: &x d\ntitle: *x\n", 2, "an alias (*name)"),
        ("deck: !!python/object/apply:os.system [ls]\n", 1, "could not determine a constructor"),
        ("deck: !!set {a}\n", 1, "could not determine a constructor"),
        ("deck: d\0", None, "the file has a character that text can't have"),
        ("a: " + "{b: " * 30 + "1" + "}" * 30, None, "nested too deeply; a deck has 12 levels at most"),
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


def test_a_deck_that_is_all_wrong_has_an_end() -> None:
    found = problems(HEAD + "  - {}\n" * 200 + "  - x: 1\n" * 50)
    assert len(found) == reader.MOST + 1 and found[-1].text == "and 51 more problems"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("answer: n / (n - 3)\nnumbers: {n: {low: 1, high: 9}}", "divides by zero with n = 3"),
        ("answer: sqrt(n)\nnumbers: {n: {low: -99, high: 1}}", "can't be computed"),
        ("answer: n ** n\nnumbers: {n: {values: [2, 900]}}", "can't be computed"),
        ("answer: m\nnumbers: {n: {values: [2]}}", "names m, which is not known; it should be one of n"),
        ("answer: n\nnumbers: {n: {values: [2], low: 1}}", "as values, or as low and high"),
        ("answer: n\nnumbers: {n: {low: 2, high: 1}}", "the smaller one as low"),
        ("answer: n\nnumbers: {n: {low: 0, high: 1e9}}", "at most 10,000 steps"),
        ("answer: max\nnumbers: {max: {values: [1]}, n: {values: [1]}}", "max is the name of a function"),
        ("answer: n\nnumbers: {N: {values: [1]}, n: {values: [1]}}", "'N' is no name"),
        ("answer: n\nnumbers: {n: {values: [2]}}\ntolerance: {}", "a tolerance is absolute or relative"),
        ("answer: n\nnumbers: {n: {values: [2, 3]}}\nnear: [{answer: 4 / n, feedback: x}]", "counts as right"),
        ("answer: 1e999\nnumbers: {n: {values: [2]}}", "should be"),
        ("answer: true\nnumbers: {n: {values: [2]}}", "answer is True: it should be a number"),
    ],
)
def test_numbers_and_expressions(given: str, said: str) -> None:
    found = problems(question(f"id: q\ntype: number\ntext: '{{n}} is'\n{given}"))
    assert any(said in problem.text for problem in found), found


def test_names_that_can_not_be_hide_nothing_else() -> None:
    given = """
id: q
type: number
text: "{n} {max} {m}"
numbers: {N: {values: [1]}, max: {values: [x]}, n: {values: [0]}}
answer: N + max + 1 / n
"""
    assert sorted((problem.line, problem.text.partition(":")[0]) for problem in problems(question(given))) == [
        (6, "{m} is none of this question's numbers; they are n, and code goes between backticks"),
        (7, "numbers"),
        (7, "numbers.N"),
        (7, "numbers.max.values.0 is 'x'"),
    ]
    near = "near: [{answer: 2, feedback: '{z}', tolerance: {absolute: 1, relative: 1}}, {answer: 1, feedback: x}]"
    found = problems(question(f"id: q\ntype: number\ntext: hm\nanswer: 1\n{near}"))
    assert [problem.text.partition(" ")[0] for problem in found] == ["near.0.tolerance:", "{z}", "it"]
    runs = "runs: {Four: {workload: kmean}}\ntruth: Four.seconds"
    (problem,) = problems(question(f"id: q\ntype: predict\ntext: hm\n{runs}"))
    assert problem.text.startswith("runs.Four: 'Four' is no name")


def test_options_that_become_the_same() -> None:
    options = "[{text: '{n}', right: true}, {text: 3 ranks}, {text: '3'}]"
    given = f"id: q\ntype: single\ntext: hm\nnumbers: {{n: {{values: [2, 3]}}}}\noptions: {options}"
    (problem,) = problems(question(given))
    assert problem.text == "this option is the same as option 1 with n = 3: 3"


def test_braces_in_code_and_formulas_are_nobodys_number() -> None:
    given = "id: q\ntype: text\naccept: [x]\ntext: |\n  `{n}` and $2^{n}$ and \\{n}\n\n  ```python\n  f'{n}'\n  ```"
    assert parse(question(given), "d.yaml").questions[0].id == "q"


def test_pictures_are_looked_at(tmp_path: Path) -> None:
    given = question("id: q\ntype: text\ntext: hm\naccept: [x]\npicture: {file: a.png, alt: x}")
    (problem,) = problems(given, tmp_path)
    assert (problem.line, problem.text) == (8, "The picture 'a.png' is not in the deck's folder")
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
    large.write_text("#" * (reader.LARGEST + 1))
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
    with pytest.raises(BadInput, match=r"There is no deck 'kmean'; there are .* Did you mean kmeans"):
        find("kmean")


@pytest.mark.real
@pytest.mark.parametrize("name", reader.shipped())
def test_decks_of_the_labs_are_good(name: str) -> None:
    deck = read(find(name), thorough=True)
    assert deck.lab == name
    assert parse(dump(deck), "d.yaml", find(name).parent) == deck


PARTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["a", "{n}", "n + 1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["text", "right", "answer", "left", "feedback", "accept", "values", "x"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
FIELDS = sorted({name for kind in types.classes().values() for name in kind.model_fields} - {"type"})


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(DECK.questions),
    st.dictionaries(st.sampled_from([*FIELDS, "nonsense"]), PARTS, max_size=4),
    st.sets(st.sampled_from(FIELDS), max_size=2),
)
@example(DECK.questions[0], {"numbers": {"text": {"values": None, "text": None}}}, set())
def test_whatever_is_wrong_with_a_question_is_told(good: Any, wrong: dict[str, Any], without: set[str]) -> None:
    """A question is as pydantic sees it, or there is at least one mistake; nothing breaks, and no mistake is empty."""
    raw = {**good.model_dump(mode="json", exclude_defaults=True), **wrong}
    raw = {name: value for name, value in raw.items() if name not in without}
    found = reader.look(raw)
    try:
        type(good).model_validate(raw)
    except ValueError:
        assert found.mistakes
    else:
        assert not found.mistakes and found.question is not None and not found.mended
    assert all(mistake.text and "\n" not in mistake.text for mistake in found.mistakes)
    told = list(reader.content_errors.problems(found.question, None)) if found.question else []
    assert all(mistake.text for mistake in told)


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
    assert problems(SHORT.format("").replace("[]", "one-id"))[0].text == "short should be a list of ids of questions"
