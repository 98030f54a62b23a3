"""Files in GIFT as Moodle and people write them, broken ones, and what becomes of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workshop.core.errors import BadInput
from workshop.quiz.deck import Deck
from workshop.quiz.gift.reader import LARGEST_FILE, read
from workshop.quiz.reader import dump, parse

SAMPLES = Path(__file__).parent / "samples"


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
    deck, losses = read(SAMPLES / "moodle.gift")
    reads_again(deck)
    assert (deck.deck, deck.title) == ("ranks-and-threads", "Ranks and threads")
    prints, collective, pi, between, true, short, pairs, escapes = deck.questions
    assert prints.text == "Which rank prints in **most** programs?" and prints.tags == ("ranks", "printing")
    assert prints.right == (0,) and prints.options[1].feedback == "Then every line is there *n* times."
    assert prints.explanation == "By agreement: $p_0$."
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
    assert list(map(str, losses)) == [
        "who-prints: options' own shares of the points (100 %, 0 %, 50 %)",
        "Who prints in HTML?: not taken: its text is HTML, which decks don't have; write it as Markdown, behind "
        "[markdown]",
        "pi: the feedback on any other number",
        "pi: the feedback on 3.14 ± 0.005, which is right",
        "pi: 3 ± 0.2, for which there are 50 % of the points",
        "short: the form 'mpi*', in which a star stands for anything",
        "Just a description, without an answer.: not taken: a description, which asks for nothing",
        "essay: not taken: an essay, which a person has to judge",
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
    deck, losses = read(file)
    mixed, spaced, first, weighted, bare, lonely, pairs, small, escaped = deck.questions
    for one in (mixed, spaced, weighted, lonely):
        assert one.type == "single" and [option.text for option in one.options] == ["right", "wrong"]
        assert one.right == (0,)
    assert spaced.options[0].feedback == "Yes."
    assert [option.text for option in first.options] == ["Grant", "Jefferson", "no one"] and first.right == (2,)
    assert bare.accept == ("mpirun", "mpiexec", "a [html] tag") and len(pairs.pairs) == 2
    assert (small.answer, small.tolerance.absolute) == (5e-5, 1e-6)
    assert escaped.text.replace("\\", "") == "$x^{2}$ is" and escaped.options[0].text == r"x\*x=y"
    assert list(map(str, losses)) == [
        "A note: not taken: a description, which asks for nothing",
        "lonely: the feedback on an answer without a text",
        "gaps: not taken: 2 pairs of braces (gaps); a question has one pair, with its answers, "
        r"and braces of a text are written \{ and \}",
    ]


@pytest.mark.parametrize("order", [("q-1", "q-1", "Q 1!"), ("", "", "")])
def test_questions_get_names_of_their_own(tmp_path: Path, order: tuple[str, ...]) -> None:
    file = tmp_path / "same.gift"
    file.write_text("\n\n".join(f"::{name}::Same?{{=a ~b}}" for name in order))
    ids = [question.id for question in read(file)[0].questions]
    assert len(set(ids)) == 3, ids


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "has no question that a deck can hold"),
        (b"one\n\n::x::Why? {=a\n~b", "line 3: a brace { that isn't closed"),
        (b"Why $x^{2}$? {=a ~b}", "2 pairs of braces (gaps); a question has one pair"),
        (b"Why} so? {=a ~b}", "a brace } that nothing opens"),
        (b"Why\xff?", "line 1: not UTF-8 text"),
        (b" " * (LARGEST_FILE + 1), "has more than 5 MB"),
    ],
)
def test_a_broken_file_is_refused_in_one_sentence(tmp_path: Path, data: bytes, sentence: str) -> None:
    file = tmp_path / "a.gift"
    file.write_bytes(data)
    with pytest.raises(BadInput) as raised:
        read(file)
    assert sentence in str(raised.value) and str(raised.value).startswith(str(file)), raised.value
    assert "\n" not in str(raised.value)


@given(data=st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_files_are_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    whole = (SAMPLES / "moodle.gift").read_bytes()
    begin = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(begin, min(len(whole), begin + 200)))
    file = tmp_path / "a.gift"
    between = data.draw(st.binary(max_size=5) | st.sampled_from([b"{", b"}", b"<", b"~", b"#"]))
    file.write_bytes(whole[:begin] + between + whole[end:])
    try:
        deck, _ = read(file)
    except BadInput as error:
        assert str(error).startswith(str(file)) and "\n" not in str(error)
    else:
        assert deck.questions
