"""What is written, as other programs expect it: each format's own rules."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any
from xml.etree import ElementTree

import pytest

from workshop.core.errors import BadInput
from workshop.quiz.deck import Deck
from workshop.quiz.formats import write

SINGLE = {
    "type": "single",
    "text": "Is `a=b` ~ $x_1$?",
    "options": [{"text": "{yes}", "right": True, "feedback": "#1: so"}, {"text": "50%"}],
}
MULTIPLE = {
    "type": "multiple",
    "text": "Which?",
    "options": [
        {"text": "a", "right": True},
        {"text": "b", "right": True},
        {"text": "c", "right": True},
        {"text": "d"},
    ],
}
NUMBER = {
    "type": "number",
    "text": "{ranks} ranks, `{ranks}` in code, $2^{ranks}$",
    "answer": "ranks * 2",
    "numbers": {"ranks": {"values": [4]}},
    "tolerance": {"relative": 0.1},
    "unit": "MB/s",
    "near": [{"answer": "ranks", "feedback": "Twice."}],
}


def deck(*questions: dict[str, Any]) -> Deck:
    named = [{"id": f"q-{number}", **question} for number, question in enumerate(questions, 1)]
    return Deck.model_validate({"deck": "one", "title": "One", "questions": named})


def test_gift() -> None:
    made = write(deck(SINGLE, MULTIPLE, NUMBER), "gift")
    single, multiple, number = made.data.decode().split("\n\n")[1:]
    assert single.startswith("::q-1::[html]<p>Is <code>a\\=b</code> \\~ \\\\(x_1\\\\)?</p>{\n")
    assert "\t=[markdown]\\{yes\\}#[markdown]\\#1\\: so\n" in single and "\t~[markdown]50%\n" in single
    assert multiple.count("~%33.33333%") == 3 and "~%-33.33333%[markdown]d" in multiple and "=" not in multiple
    assert "4 ranks, <code>\\{ranks\\}</code> in code, \\\\(2^\\{4\\}\\\\)" in number
    assert "=%100%8:0.8" in number and "=%0%4:0.4#[markdown]Twice." in number
    assert [(one.question, one.part) for one in made.lost] == [("", "deck"), ("q-3", "numbers"), ("q-3", "unit")]


def test_moodle_xml() -> None:
    root = ElementTree.fromstring(write(deck(SINGLE, MULTIPLE, NUMBER), "moodle").data)
    category, single, multiple, number = root
    assert category.findtext("category/text") == "$course$/top/One"
    assert single.findtext("questiontext/text") == r"<p>Is <code>a=b</code> ~ \(x_1\)?</p>"
    assert [answer.get("fraction") for answer in single.findall("answer")] == ["100", "0"]
    assert [answer.get("fraction") for answer in multiple.findall("answer")] == ["33.33333"] * 3 + ["-33.33333"]
    assert [answer.findtext("text") for answer in number.findall("answer")] == ["8", "4"]
    assert number.findtext("answer/tolerance") == "0.8" and number.findtext("units/unit/unit_name") == "MB/s"


@pytest.mark.parametrize(
    ("answer", "tolerance", "written"),
    [
        (5e-5, {"relative": 0.1}, ("0.00005", "0.000005")),
        (50.0, {"relative": 1e-6}, ("50", "0.00005")),
        (3.0, {"relative": 0.1}, ("3", "0.3")),
        (1.5e9, {"absolute": 1e5}, ("1500000000", "100000")),
        (-0.0, {"absolute": 0}, ("0", "0")),
        (6.02e23, {"absolute": 0.5}, ("602000000000000000000000", "0.5")),
    ],
)
def test_numbers_have_no_exponent_which_readers_of_gift_and_moodle_may_not_know(
    answer: float, tolerance: dict[str, float], written: tuple[str, str]
) -> None:
    question = {"type": "number", "text": "How much?", "answer": answer, "tolerance": tolerance}
    assert f"\t=%100%{':'.join(written)}\n" in write(deck(question), "gift").data.decode()
    root = ElementTree.fromstring(write(deck(question), "moodle").data)
    assert (root.findtext("*/answer/text"), root.findtext("*/answer/tolerance")) == written


def test_qti() -> None:
    data = write(deck(SINGLE, MULTIPLE, NUMBER), "qti").data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        manifest, item = archive.read("imsmanifest.xml").decode(), archive.read("items/q-3.xml")
    assert sorted(names) == ["imsmanifest.xml", "items/q-1.xml", "items/q-2.xml", "items/q-3.xml", "test.xml"]
    named = {one.get("href") for one in ElementTree.fromstring(manifest).iter() if one.tag.endswith("}file")}
    assert named == set(names) - {"imsmanifest.xml"}
    root = ElementTree.fromstring(item)
    space = "{http://www.imsglobal.org/xsd/imsqti_v2p1}"
    assert root.tag == f"{space}assessmentItem" and root.find(f".//{space}equal").get("tolerance") == "0.8 0.8"
    assert b"http://www.w3.org/1998/Math/MathML" in item and b"application/x-tex" in item


def test_aiken() -> None:
    made = write(deck(SINGLE, MULTIPLE), "aiken")
    assert made.data.decode() == "Is a=b ~ $x_1$?\nA. {yes}\nB. 50%\nANSWER: A\n"
    assert {(one.question, one.part) for one in made.lost if one.question} == {
        ("q-1", "formatting"),
        ("q-1", "feedback"),
        ("q-2", "question"),
    }


def test_jupyterquiz() -> None:
    text = {"type": "text", "text": "What?", "accept": ["mpirun"], "near": [{"accept": ["run"], "feedback": "Nearly."}]}
    single, multiple, number, words = json.loads(write(deck(SINGLE, MULTIPLE, NUMBER, text), "jupyterquiz").data)
    assert single["type"] == "multiple_choice" and single["answers"][0]["feedback"] == "#1: so"
    assert single["question"] == r"Is <code>a=b</code> ~ \(x_1\)?" and "code" not in single
    assert multiple["type"] == "many_choice" and [one["correct"] for one in multiple["answers"]] == [True] * 3 + [False]
    right, near = number["answers"]
    low, high = right["range"]
    assert low < 7.2 and high > 8.8, "a number on the edge is right, and the upper end doesn't belong to a range"
    assert (low, high) == pytest.approx((7.2, 8.8))
    assert right["correct"] and right["feedback"] == "Correct.", "its script needs a feedback for a range"
    assert not near["correct"] and near["feedback"] == "Twice."
    assert words["type"] == "string" and [one["correct"] for one in words["answers"]] == [True, False]


def test_jupyterquiz_shows_code_as_a_block_of_its_own() -> None:
    code = "```python\nif a < b:\n    go('$x')\n```"
    options = [
        {"text": f"See [there][1]:\n\n{code}\n\n[1]: x", "right": True},
        {"text": code},
        {"text": f"{code}\n\nEnd."},
    ]
    (made,) = json.loads(
        write(deck({"type": "single", "text": f"Why?\n\n{code}", "options": options}), "jupyterquiz").data
    )
    escaped = "if a &lt; b:\n    go(&#x27;$x&#x27;)"
    assert (made["question"], made["code"]) == ("Why?", escaped)
    link, only, inside = made["answers"]
    assert link["code"] == only["code"] == escaped and only["answer"] == "" and "code" not in inside
    assert link["answer"] == 'See <a target="_blank" class="JQLink" href="x">there</a>:'
    assert (
        inside["answer"].startswith('<pre><code class="language-python">if a &lt; b:') and "$" not in inside["answer"]
    )


def test_jupyterquiz_tells_that_a_multiple_choice_with_one_right_option_becomes_a_single_one() -> None:
    options = [{"text": "a", "right": True}, {"text": "b"}]
    made = write(deck({"type": "multiple", "text": "Which?", "options": options}), "jupyterquiz")
    assert [one.what for one in made.lost if one.question] == [
        "that several options can be chosen; jupyterquiz allows only one if one is right"
    ]


@pytest.mark.parametrize("format", ["gift", "moodle", "qti", "aiken", "jupyterquiz"])
def test_markup_and_scripts_stay_text(format: str) -> None:
    nasty = "<script>alert(1)</script>]]><b onclick=x>"
    question = {"type": "single", "text": nasty, "options": [{"text": nasty, "right": True}, {"text": "b"}]}
    data = write(deck(question), format).data
    if format in ("moodle", "qti"):
        unpacked = data if format == "moodle" else zipfile.ZipFile(io.BytesIO(data)).read("items/q-1.xml")
        root = ElementTree.fromstring(unpacked)
        assert not [one for one in root.iter() if one.tag.endswith(("script", "b"))]
        html = "".join(root.itertext())
        assert ("&lt;script&gt;" if format == "moodle" else "<script>alert") in html
        assert format == "qti" or "<script>" not in html


def test_nothing_that_can_be_carried_is_an_error() -> None:
    poll = {"type": "poll", "text": "What now?", "options": [{"text": "a"}, {"text": "b"}]}
    with pytest.raises(BadInput, match="one has no question that Aiken can carry; it holds a poll"):
        write(deck(poll), "aiken")
