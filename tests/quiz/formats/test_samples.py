"""Files as other programs write them, and what becomes of them."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from workshop.core.errors import BadInput
from workshop.quiz.deck import Deck
from workshop.quiz.formats import Imported, read
from workshop.quiz.reader import dump, parse

SAMPLES = Path(__file__).parent / "samples"


def told(found: Imported) -> list[str]:
    return [str(one) for one in found.lost]


def package(tmp_path: Path, folder: Path = SAMPLES / "package") -> Path:
    file = tmp_path / "package.zip"
    with zipfile.ZipFile(file, "w") as archive:
        for one in sorted(folder.iterdir()):
            archive.write(one, one.name)
    return file


def reads_again(deck: Deck) -> None:
    """What is imported is a deck that our own checks take."""
    again = parse(
        dump(
            deck.model_copy(update={"questions": tuple(q.model_copy(update={"picture": None}) for q in deck.questions)})
        ),
        "deck",
    )
    assert [question.id for question in again.questions] == [question.id for question in deck.questions]


def test_gift() -> None:
    found = read(SAMPLES / "moodle.gift")
    deck = found.deck
    reads_again(deck)
    assert (deck.deck, deck.title) == ("ranks-and-threads", "Ranks and threads")
    prints, collective, pi, between, true, short, pairs, escapes = deck.questions
    assert prints.text == r"Which rank prints in **most** programs\\?" and prints.tags == ("ranks", "printing")
    assert prints.right == (0,) and prints.options[1].feedback == "Then every line is there *n* times."
    assert prints.explanation == "By agreement."
    assert collective.type == "multiple" and collective.right == (0, 1) and collective.options[2].text == "`Send`"
    assert collective.options[3].feedback == "It has one sender."
    assert (pi.answer, pi.tolerance.absolute, pi.near[0].answer) == (3.14, 0.005, 3.41)
    assert (between.answer, between.tolerance.absolute) == (3, 2)
    assert true.right == (0,) and true.options[0].feedback == "Right: one address space."
    assert true.options[1].feedback == "They do." and true.shuffle is False
    assert short.text == r"The command that starts ranks is called \_\_\_\_\_." and short.accept == (
        "mpirun",
        "mpiexec",
    )
    assert short.near[0].accept == ("run",)
    assert [(pair.left, pair.right) for pair in pairs.pairs] == [
        ("MPI_Send", "one to one"),
        ("MPI_Bcast", "one to all"),
    ]
    assert pairs.extra == ("nobody",)
    assert escapes.text == r"Escapes: \{a} ~ = # and \\ here."
    assert told(found) == [
        "who-prints: shares of the points for options that are partly right (100 %, 50 %)",
        "pi: the feedback on any other number",
        "pi: the feedback on 3.14, which is right",
        "pi: 3 ± 0.2, for which there are 50 % of the points",
        "short: the form 'mpi*', in which a star stands for anything",
        "Just a description, without an answer.: not taken: a description, which asks for nothing",
        "essay: not taken: an essay, which a person has to judge",
    ]


def test_moodle_xml() -> None:
    found = read(SAMPLES / "moodle.xml")
    deck = found.deck
    reads_again(deck)
    assert (deck.title, deck.about) == ("Week 1", "First week")
    amdahl, collectives, bandwidth, launcher, pairs, threads, order = deck.questions
    assert amdahl.id == "amdahl-4" and amdahl.text == "With $p=0.9$, what is the **speed-up** of 4 ranks?"
    assert amdahl.explanation == r"$$\frac{1}{0.1+0.9/4}$$" and amdahl.points == 2 and amdahl.shuffle is False
    assert amdahl.picture.file == "red-dot.png" and amdahl.picture.alt == "Amdahl"
    assert found.pictures["red-dot.png"].startswith(b"\x89PNG")
    assert amdahl.options[1].text == "4 & no less" and amdahl.options[1].feedback == "Only with p$_{1}$ = 1."
    assert collectives.text == "Which are *collective*? $n_1$" and collectives.right == (0, 1)
    assert (bandwidth.answer, bandwidth.tolerance.absolute, bandwidth.unit) == (50, 0.5, "MB/s")
    assert launcher.text == "What starts ranks? 2 * 3 * 4" and launcher.accept == ("mpirun", "a*b")
    assert pairs.pairs[0].left == "`MPI_Send`" and pairs.extra == ("nobody",)
    assert threads.right == (0,) and threads.options[1].feedback == "They do."
    assert order.items == ("init", "compute", "finalise")
    assert told(found) == [
        "amdahl-4: a script",
        "amdahl-4: its incorrect feedback",
        "amdahl-4: its hints",
        "collectives: options' own shares of the points; right ones count alike, wrong ones take as much away",
        "bandwidth: the feedback on any other number",
        "bandwidth: other units (kB/s)",
        "bandwidth: that a missing unit takes points",
        "launcher: that case matters",
        "launcher: the form 'srun', for which there are 80 % of the points",
        "launcher: the form 'mpi*', in which a star stands for anything",
        "Explain: not taken: an essay, which a person has to judge",
        "Gaps: not taken: a text with gaps (cloze)",
        "Note: not taken: a description, which asks for nothing",
        "Drag: not taken: a question of type 'ddwtos'",
    ]


def test_gift_as_others_write_it(tmp_path: Path) -> None:
    file = tmp_path / "others.gift"
    file.write_text(
        "[markdown] A note\n\n::mixed::Which?{~=right ~wrong}\n\n::spaced::Which?{ ~ =right#Yes.\n ~\n ~wrong }\n\n"
        "::first::Who? {Grant ~Jefferson =no one}\n\n::weighted::Which?{=%100%right ~%0%wrong}\n\n"
        "::bare::Tool? {mpirun =[html] mpiexec =a [html] tag}\n\n::lonely::Which?{=right ~wrong ~#Nothing.}\n\n"
        "::pairs::Match.{a -> b =c -> d}\n\n::small::How long?{#5e-5:1e-6}\n\n"
        "::gaps::{=One} and {=two}.\n\n::escaped::$x^\\{2\\}$ is {=x*x\\=y ~x}"
    )
    found = read(file)
    mixed, spaced, first, weighted, bare, lonely, pairs, small, escaped = found.deck.questions
    for one in (mixed, spaced, weighted, lonely):
        assert one.type == "single" and [option.text for option in one.options] == ["right", "wrong"]
        assert one.right == (0,)
    assert spaced.options[0].feedback == "Yes."
    assert [option.text for option in first.options] == ["Grant", "Jefferson", "no one"] and first.right == (2,)
    assert bare.accept == ("mpirun", "mpiexec", "a [html] tag") and len(pairs.pairs) == 2
    assert (small.answer, small.tolerance.absolute) == (5e-5, 1e-6)
    assert escaped.text.replace("\\", "") == "$x^{2}$ is" and escaped.options[0].text == r"x\*x=y"
    assert told(found) == [
        "A note: not taken: a description, which asks for nothing",
        "lonely: the feedback on an answer without a text",
        "gaps: not taken: 2 pairs of braces (gaps); a question has one pair, with its answers, "
        r"and braces of a text are written \{ and \}",
    ]


def test_aiken_as_others_write_it(tmp_path: Path) -> None:
    file = tmp_path / "others.txt"
    file.write_text("Answer: which one?\r\nA) x\r\nB) y\r\nAnswer: b\r\n\r\nWhy?\r\nA. x\r\nB. y\r\nanswer : A.\r\n")
    first, second = read(file).deck.questions
    assert first.text == "Answer: which one?" and first.right == (1,) and second.right == (0,)


SMALL = """Which of these holds?
a) x
b. y
Answer: b

a) runs first,
b) runs last:
which may be?
c) is no option
A. only a
B. only b
ANSWER: A
"""


def test_aiken_s_options_may_have_small_letters(tmp_path: Path) -> None:
    """Where some have capital ones, small letters are the question's text."""
    file = tmp_path / "small.txt"
    file.write_text(SMALL)
    first, second = read(file).deck.questions
    assert (first.text, [option.text for option in first.options]) == ("Which of these holds?", ["x", "y"])
    assert second.text == "a) runs first, b) runs last: which may be? c) is no option"
    assert [option.text for option in second.options] == ["only a", "only b"]
    assert (first.right, second.right) == ((1,), (0,))


def test_aiken() -> None:
    found = read(SAMPLES / "questions.aiken.txt")
    first, second = found.deck.questions
    assert first.right == (0,) and [option.text for option in first.options][2] == "Memory Page Index"
    assert second.text == "Which call is collective, and has a root?" and second.right == (1,)
    assert second.options[1].text == "MPI_Bcast & co. <all>" and not found.lost
    reads_again(found.deck)


def test_one_qti_item() -> None:
    found = read(SAMPLES / "item.xml")
    (question,) = found.deck.questions
    assert question.id == "root-of-a-broadcast" and question.right == (1,) and question.shuffle is False
    assert question.text == "In *MPI_Bcast*, who has the data at first?\n\nChoose one."
    assert question.options[0].text == "All ranks" and question.options[0].feedback == "Then nothing is left to do."
    assert told(found) == ["root-of-a-broadcast: that some options stay in their places"]
    reads_again(found.deck)


TEMPLATE = """\
<assessmentItem xmlns="http://www.imsglobal.org/xsd/imsqti_v2p1" identifier="a" title="Sum" adaptive="false">
  <responseDeclaration identifier="RESPONSE" cardinality="single" baseType="float">
    <correctResponse><value>3</value></correctResponse>
  </responseDeclaration>
  <templateDeclaration identifier="A" cardinality="single" baseType="integer" mathVariable="true">
    <defaultValue><value>1</value></defaultValue>
  </templateDeclaration>
  %s
  <itemBody><p>How much is %s + 2? <textEntryInteraction responseIdentifier="RESPONSE"/></p></itemBody>
</assessmentItem>
"""
PROCESSED = '<templateProcessing><setTemplateValue identifier="A"><randomInteger max="9"/></setTemplateValue>%s'
TEMPLATES = [
    (PROCESSED % "</templateProcessing>", "A"),
    ("", '<printedVariable identifier="A"/>'),
    ("", '<math xmlns="http://www.w3.org/1998/Math/MathML"><mi>A</mi></math>'),
    ("", '<templateInline templateIdentifier="A" identifier="one" showHide="show">1</templateInline>'),
]


@pytest.mark.parametrize(("processing", "shown"), TEMPLATES)
def test_templates_of_qti_are_refused(tmp_path: Path, processing: str, shown: str) -> None:
    file = tmp_path / "template.xml"
    file.write_text(TEMPLATE % (processing, shown))
    with pytest.raises(BadInput, match="Sum: not taken: a template, whose text or right answer is different"):
        read(file)


def test_constants_of_the_score_make_no_template_of_an_item(tmp_path: Path) -> None:
    file = tmp_path / "constant.xml"
    file.write_text(TEMPLATE % ("", "1"))
    (question,) = read(file).deck.questions
    assert question.answer == 3 and question.text == r"How much is 1 + 2? \_\_\_\_\_"


def test_a_qti_package(tmp_path: Path) -> None:
    found = read(package(tmp_path))
    tool, efficiency, pairs = found.deck.questions
    assert tool.text == r"Ranks are started on other hosts by \_\_\_\_\_, mostly." and tool.accept == ("ssh",)
    assert tool.tags == ("network",)
    assert (efficiency.answer, efficiency.tolerance.absolute) == (50, 5), "relative tolerances are percentages"
    assert [(pair.left, pair.right) for pair in pairs.pairs] == [("send", "receive"), ("scatter", "gather")]
    assert told(found) == [
        "gone.xml: not taken: it isn't in the package",
        "tool: that case matters",
        "tool: forms with a part of the points (rsh)",
        "efficiency: a formula in MathML, of which only the characters are left",
        "Your file: not taken: an interaction of type 'upload'",
    ]
    reads_again(found.deck)


@pytest.mark.parametrize("order", [("q-1", "q-1", "Q 1!"), ("", "", "")])
def test_questions_get_names_of_their_own(tmp_path: Path, order: tuple[str, ...]) -> None:
    file = tmp_path / "same.gift"
    file.write_text("\n\n".join(f"::{name}::Same?{{=a ~b}}" for name in order))
    ids = [question.id for question in read(file).deck.questions]
    assert len(set(ids)) == 3, ids
