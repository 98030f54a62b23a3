"""Files that are broken, too large or meant badly: one sentence, with the file and the line where there is one."""

from __future__ import annotations

import io
import re
import zipfile
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.quiz.formats.test_samples import SAMPLES
from workshop import registry
from workshop.core.errors import BadInput
from workshop.quiz.formats import LARGEST, markdown_writer, read


def zipped(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


def forged(archive: bytes, size: int, claimed: int) -> bytes:
    """The archive with another size of a file in its directory and in front of the file."""
    assert archive.count(size.to_bytes(4, "little")) == 2
    return archive.replace(size.to_bytes(4, "little"), claimed.to_bytes(4, "little"))


BIG = zipped({"big": b"\0" * (31 << 20)})
LAUGHS = b'<!DOCTYPE q [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><quiz><question type="x">&b;</question></quiz>'
OLD = b'<?xml version="1.0"?>\n<!-- exported --><questestinterop xmlns="http://www.imsglobal.org/xsd/ims_qtiasiv1p2"/>'
TYPED = b'<!DOCTYPE questestinterop SYSTEM "ims_qtiasiv1p2p1.dtd" [<!ENTITY a "b">]>\n<questestinterop/>'
NEW = b'<qti-assessment-item xmlns="http://www.imsglobal.org/xsd/imsqtiasi_v3p0" identifier="a"/>'
# As Canvas writes a quiz: the resource has no href of its own, and its settings are a resource of another type.
CANVAS = b"""<manifest xmlns="http://www.imsglobal.org/xsd/imsccv1p1/imscp_v1p1"><resources>
<resource identifier="g1" type="imsqti_xmlv1p2"><file href="g1/g1.xml"/></resource>
<resource identifier="g2" type="associatedcontent/imscc_xmlv1p1/learning-application-resource" href="g1/meta.xml"/>
</resources></manifest>"""
EMPTY = b"<manifest><resources/></manifest>"
ITEM = (SAMPLES / "item.xml").read_bytes()
OUTSIDE = b'<!DOCTYPE q [<!ENTITY a SYSTEM "file:///etc/passwd">]><quiz>&a;</quiz>'


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("a.gift", b"", "has no question that a deck can hold"),
        ("a.gift", b"one\n\n::x::Why? {=a\n~b", "line 3: a brace { that isn't closed"),
        ("a.gift", b"::x::Why? {=a\n~b\n\n::y::Why? {=a ~b}\n\nOh}", "line 1: a brace { that isn't closed"),
        ("a.gift", b"Two {=a} and {=b}.", "2 pairs of braces (gaps); a question has one pair"),
        ("a.gift", b"Why $x^{2}$? {=a ~b}", "2 pairs of braces (gaps); a question has one pair"),
        ("a.gift", b"Why? {=$x^{2}$ ~b}", "braces of a text are written \\{ and \\}"),
        ("a.gift", b"Why} so? {=a ~b}", "a brace } that nothing opens"),
        ("a.gift", b"Why\xff?", "line 1: not UTF-8 text"),
        ("a.gift", b"Just words.", "a description, which asks for nothing"),
        ("a.txt", b"Why?\nA. x\nB. y\nANSWER: C\n", "line 4: ANSWER is 'C'; it should be one of A, B"),
        ("a.txt", b"Why?\nA. x\nA. y\nANSWER: A\n", "line 3: there is an option A already"),
        ("a.txt", b"Why?\nA. x\nB. y\nANSWER: A\n\nWhy?\nA. x\n", "line 6: a question without an answer"),
        ("a.txt", b"Why?\nA. x\nand\nANSWER: A\n", "line 3: 'and' should be an option"),
        ("a.xml", b"<quiz>\n<question>\n</quiz>", "line 3, column"),
        ("a.txt", b"Why?\nA. x\nB. y\nAnswer: C\n", "line 4: ANSWER is 'C'; it should be one of A, B"),
        ("a.txt", b"Why?\na. x\nb. y\n\nHow?\nA. x\nB. y\nANSWER: A\n", "line 1: a question without an answer"),
        ("a.txt", b"Why?\na. x\nA. y\nb. z\nB. w\nANSWER: A\n", "line 5: there is an option B already"),
        ("a.txt", b"Why?\na: x\nb: y\nAnswer: a\n\nHow?\nA. x\n", "line 4: an answer without a question and two"),
        ("a.xml", OLD, "is written in QTI 1.2"),
        ("a.xml", TYPED, "is written in QTI 1.2"),
        ("a.xml", OLD.decode().encode("utf-16"), "is written in QTI 1.2"),
        ("a.xml", NEW, "is written in QTI 3"),
        ("a.zip", zipped({"imsmanifest.xml": CANVAS, "g1/g1.xml": OLD, "g1/meta.xml": b"<quiz/>"}), "in QTI 1.2"),
        ("a.imscc", zipped({"imsmanifest.xml": CANVAS, "g1/g1.xml.qti": TYPED}), "in QTI 1.2"),
        ("a.zip", zipped({"imsmanifest.xml": EMPTY, "a.html": b"<html/>"}), "holds no QTI"),
        ("a.zip", zipped({"imsmanifest.xml": EMPTY, "a.xml": ITEM}), "has no item that its manifest or its test names"),
        ("a.xml", b"<html/>", "Moodle XML begins with <quiz>"),
        ("a.xml", b"<quiz/>", "has no question that a deck can hold"),
        ("a.xml", LAUGHS, "declares a document type or entities"),
        ("a.xml", OUTSIDE, "declares a document type or entities"),
        ("a.xml", b"<quiz>" + b"<a>" * 5000 + b"</a>" * 5000 + b"</quiz>", "elements in each other"),
        ("a.zip", b"PK\x03\x04 and no more", "no package that can be unpacked"),
        ("a.zip", zipped({"x.txt": b"x"}), "has no imsmanifest.xml"),
        ("a.zip", zipped({"../x": b"x"}), "lies outside of it"),
        ("a.zip", zipped({"/etc/x": b"x"}), "lies outside of it"),
        ("a.zip", zipped({f"{number}": b"" for number in range(2001)}), "2001 files in it"),
        ("a.zip", BIG, "and 30 MB when unpacked"),
        ("a.zip", forged(BIG, 31 << 20, 10), "no package that can be unpacked"),
        ("a.xml", LAUGHS.decode().encode("utf-16"), "declares a document type or entities"),
        ("a.xml", b"<quiz>" + b"<a/>" * 400_000 + b"</quiz>", "at most 200,000 are read"),
        ("a.gift", b" " * (LARGEST + 1), "has more than 5 MB"),
    ],
)
def test_one_sentence(tmp_path: Path, name: str, data: bytes, sentence: str) -> None:
    file = tmp_path / name
    file.write_bytes(data)
    with pytest.raises(BadInput) as raised:
        read(file)
    assert sentence in str(raised.value) and str(raised.value).startswith(str(file)), raised.value
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("sample", ["moodle.gift", "questions.aiken.txt", "moodle.xml", "item.xml"])
@given(data=st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_files_are_read_or_refused(tmp_path: Path, sample: str, data: st.DataObject) -> None:
    whole = (SAMPLES / sample).read_bytes()
    at = data.draw(st.integers(0, len(whole)))
    until = data.draw(st.integers(at, min(len(whole), at + 200)))
    file = tmp_path / sample
    file.write_bytes(
        whole[:at] + data.draw(st.binary(max_size=5) | st.sampled_from([b"{", b"}", b"<", b"~", b"#"])) + whole[until:]
    )
    try:
        found = read(file)
    except BadInput as error:
        assert str(error).startswith(str(file)) and "\n" not in str(error)
    else:
        assert found.deck.questions


@given(st.text(st.sampled_from("<>/abpulit &;\"'=\\()$*_`[]{}\n") | st.characters(codec="utf-8"), max_size=60))
@settings(max_examples=200, deadline=None)
def test_any_html_becomes_markdown(html: str) -> None:
    made = markdown_writer.markdown(html)
    assert isinstance(made.text, str) and "\0" not in made.text


@pytest.mark.parametrize(
    ("html", "markdown", "lost"),
    [
        ("<script>alert(1)</script><b onclick='x()'>hi</b>", "**hi**", ["a script"]),
        ("<a href='javascript:x()'>here</a>", "here", ["a link's address"]),
        ("<ul><li>a<li>b<ul><li>c</ul></ul>", "- a\n- b\n  - c", []),
        ("H<sub>2</sub>O, x<sup>n+1</sup>", r"H$_{2}$O, x$^{\text{n+1}}$", []),
        ("<pre>a = {x}\n  b</pre>", "```\na = {x}\n  b\n```", []),
        ("1. not a list", r"1\. not a list", []),
        ("{ranks} cost $5, *really*", r"\{ranks} cost \$5, \*really\*", []),
        ("<u>under</u>", "under", ["the mark <u> of a part of the text"]),
    ],
)
def test_html_as_markdown(html: str, markdown: str, lost: list[str]) -> None:
    made = markdown_writer.markdown(html)
    assert (made.text, made.lost) == (markdown, lost)


@pytest.mark.parametrize(
    ("text", "markdown", "lost"),
    [
        *(
            (f"{format}Is <{tag}> first, or {{}}?", f"Is <{tag}> first, or {{}}?", [])
            for tag in ("head", "form", "script", "table", "a", "b", "code")
            for format in ("", "[html]")
        ),
        ("What do <script> and </script> do?", "What do <script> and </script> do?", []),
        ("If a<b and c>d, is vector<int> <!-- or </b> so?", "If a<b and c>d, is vector<int> <!-- or </b> so?", []),
        ("Is <p> or <!DOCTYPE html> first?", "Is <p> or <!DOCTYPE html> first?", []),
        ("<p>one<p>two <!-- or three -->", "one\n\ntwo", ["a remark"]),
        ("a <b>bold</b> word<br>and <i>x</i>", "a **bold** word\\\nand *x*", []),
        ("<iframe src='x'>a</iframe> <a name='x'>y</a>", "y", ["a iframe", "a link's address"]),
        (
            "[html]<script>alert(1)</script><form>x</form><p dir='ltr'>a <b>y</b></div>",
            "a **y**",
            ["a script", "a form"],
        ),
        ("[html]<ul><li>a<li>b</ul><p>one<p>two", "- a\n- b\n\none\n\ntwo", []),
    ],
)
def test_words_that_look_like_tags_stay_words(tmp_path: Path, text: str, markdown: str, lost: list[str]) -> None:
    """What Moodle's editors write is markup, also where people leave an end out; what is left out of it is named."""
    file = tmp_path / "tags.gift"
    text = re.sub(r"([~=#{}:])", r"\\\1", text.replace("{}", "more"))
    file.write_text(f"::q::{text}{{=<a> ~<b>}}\n")
    found = read(file)
    (question,) = found.deck.questions
    assert (question.text, [one.what for one in found.lost]) == (markdown.replace("{}", "more"), lost)
    assert [option.text for option in question.options] == ["<a>", "<b>"]


def test_each_format_has_what_the_registry_says() -> None:
    for format in registry.formats().values():
        module = import_module(format.module)
        assert callable(module.write) and hasattr(module, "read") == format.read
