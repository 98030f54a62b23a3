"""Files as other programs write them, and what becomes of them."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from workshop.quiz.deck import Deck
from workshop.quiz.formats import Imported, read
from workshop.quiz.reading import dump, parse

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
