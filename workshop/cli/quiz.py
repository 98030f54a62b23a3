"""Ask a class questions: decks, live rounds and their results."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workshop.cli import common, quiz_rounds

if TYPE_CHECKING:
    from workshop.quiz.deck import Deck
    from workshop.quiz.gift.writer import Loss
    from workshop.quiz.reader import DeckProblem
    from workshop.quiz.types import DrawnQuestion

app = typer.Typer(help=__doc__, no_args_is_help=True)
app.command("host")(quiz_rounds.host)
app.command("rounds")(quiz_rounds.rounds)
app.command("results")(quiz_rounds.results)
app.command("forget")(quiz_rounds.forget)

DeckName = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A lab's deck, or a deck's YAML file.")]


@app.command("list")
def list_(as_json: common.JSON = False) -> None:
    """List the labs' decks."""
    from workshop.quiz import reader

    decks = []
    for path in reader.shipped().values():
        try:
            decks.append((reader.read(path), path))
        except reader.BadDeck as error:
            common.stderr().print(str(error), soft_wrap=True)  # all other decks are listed
    rows = [(deck.deck, deck.lab, str(len(deck.questions)), deck.title) for deck, _ in decks]
    empty = "No lab has a deck; check one of your own with: workshop quiz check FILE"
    documents = [_summary(deck, path) for deck, path in decks]
    common.listing(as_json, documents, ("deck", "lab", "questions", "title"), rows, ("questions",), empty)


@app.command()
def check(
    decks: Annotated[list[str], typer.Argument(metavar="NAME|FILE…", help="Labs' decks, or decks' YAML files.")],
    as_json: common.JSON = False,
) -> int:
    """Check decks, and tell the first mistake of each question. 2 is returned where there is one."""
    from workshop.core import words
    from workshop.core.errors import BadInput
    from workshop.quiz import reader

    summaries: list[dict[str, Any]] = []
    for name in decks:
        try:
            path = reader.find(name)
            deck = reader.read(path, thorough=True)
        except BadInput as error:
            alone = reader.DeckProblem(None, "", str(error))
            deck_problems = error.problems if isinstance(error, reader.BadDeck) else (alone,)
            summaries.append({"file": name, "problems": [vars(problem) for problem in deck_problems]})
            common.stderr().print(str(error), soft_wrap=True)
        else:
            summaries.append(_summary(deck, path) | {"problems": []})
            if not as_json:
                print(f"{path}: {words.count(len(deck.questions), 'question')}, nothing is wrong")
    if as_json:
        common.answer(summaries)
    return 2 if any(entry["problems"] for entry in summaries) else 0


@app.command()
def schema() -> None:
    """Print the JSON schema of decks, for editors."""
    from workshop.quiz.deck import schema

    common.answer(schema())


@app.command()
def show(
    deck: DeckName,
    answers: Annotated[bool, typer.Option("--answers", help="Show what is right, too.")] = False,
    as_json: common.JSON = False,
) -> None:
    """Show a deck's questions; what is right only with --answers."""
    from workshop.quiz import reader

    deck_read = reader.read(reader.find(deck))
    if not as_json:
        show_deck(deck_read, answers)
    elif answers:
        common.answer(deck_read.model_dump(mode="json"))
    else:
        common.answer(without_answers(deck_read))


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Questions in Moodle's format GIFT.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The deck to write; default: standard output.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over a file that is there.")] = False,
    as_json: common.JSON = False,
) -> None:
    """Make a deck of a file in Moodle's format GIFT. The answer names the losses."""
    from workshop.core import output_files
    from workshop.quiz import reader
    from workshop.quiz.gift.reader import read

    deck, losses = read(file)
    text = reader.dump(deck)
    written = []
    if out is not None:
        output_files.check([out], overwrite)
        written = [output_files.write(out, text.encode())]
    _tell(losses)
    problems = _to_mend(text, out)
    if as_json:
        answer = {"files": written, "lost": [loss.as_json() for loss in losses], "problems": list(map(vars, problems))}
        common.answer({"deck": deck.model_dump(mode="json"), **answer})
    elif written:
        print(*written)
    else:
        print(text, end="")


@app.command()
def export(
    deck: DeckName,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file to write; default: the deck's name, in this folder.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over a file that is there.")] = False,
    as_json: common.JSON = False,
) -> None:
    """Write a deck in Moodle's format GIFT. The answer names the losses."""
    from workshop.core import output_files
    from workshop.quiz import reader
    from workshop.quiz.gift.writer import write

    deck_read = reader.read(reader.find(deck))
    data, losses = write(deck_read)
    file = out or Path(f"{deck_read.deck}.gift")
    output_files.check([file], overwrite)
    written = output_files.write(file, data)
    _tell(losses)
    if as_json:
        common.answer({"deck": deck_read.deck, "file": written, "lost": [loss.as_json() for loss in losses]})
    else:
        print(written)


def _summary(deck: Any, path: Path) -> dict[str, Any]:
    return {
        "file": str(path),
        "deck": deck.deck,
        "title": deck.title,
        "lab": deck.lab or None,
        "questions": len(deck.questions),
    }


def _to_mend(text: str, out: Path | None) -> tuple[DeckProblem, ...]:
    """The faults of an imported deck, also printed on standard error. Moodle accepts decks that this program
    refuses, such as two forms of an answer that only differ in case."""
    from workshop.quiz import reader

    try:
        reader.parse(text, str(out or "The deck"), out and out.parent)
    except reader.BadDeck as error:
        common.stderr().print(f"To be mended before the deck can be used:\n{error}", soft_wrap=True)
        return error.problems
    return ()


def _tell(losses: tuple[Loss, ...]) -> None:
    """Print each question's losses on standard error."""
    by_question: dict[str, list[str]] = {}
    for loss in losses:
        by_question.setdefault(loss.question, []).append(loss.what)
    for question, what in by_question.items():
        common.stderr().print(f"Lost: {f'{question}: ' if question else ''}{'; '.join(what)}", soft_wrap=True)


WIDTH = 78  # columns of a terminal


def without_answers(deck: Deck) -> dict[str, Any]:
    """A deck as a document from which nothing that is right can be told: its questions are as a browser gets them."""
    from workshop.quiz.deck import ask

    questions = [
        question.view(ask(deck, question, "show"), lambda picture: picture.file) for question in deck.questions
    ]
    return deck.model_dump(mode="json", exclude={"questions"}) | {"questions": questions}


def show_deck(deck: Deck, answers: bool) -> None:
    """A deck's questions, one below the other; what is right only where `answers` says so."""
    from rich.console import Console
    from rich.text import Text

    from workshop.core import words
    from workshop.quiz.deck import ask
    from workshop.quiz.rendering import plain

    out = Console(highlight=False, markup=False, soft_wrap=True)
    lab = f", lab {deck.lab}" if deck.lab else ""
    out.print(Text(f"{deck.title} ({deck.deck}{lab})", style="bold"))
    for line in _wrapped(plain(deck.about), ""):
        out.print(line)
    for number, question in enumerate(deck.questions, 1):
        drawn_question = ask(deck, question, "show")
        about = [question.type, words.count(deck.seconds_of(question), "second")]
        if points := deck.points_of(question):
            about.insert(1, f"{points:g} point{'' if points == 1 else 's'}")
        out.print()
        out.print(Text(f"{number}. {question.id} ({', '.join(about)})", style="bold"))
        for line in _question(drawn_question, answers):
            out.print(line)


def _question(drawn_question: DrawnQuestion, answers: bool) -> Iterator[str]:
    from workshop.quiz.parts import written
    from workshop.quiz.rendering import plain

    question = drawn_question.question
    yield from _wrapped(plain(question.text, drawn_question.numbers), "   ")
    if question.picture is not None:
        yield from _wrapped(f"Picture {question.picture.file}: {question.picture.alt}", "   ")
    if drawn_question.numbers:
        numbers = ", ".join(f"{name} = {written(value)}" for name, value in drawn_question.numbers.items())
        yield from _wrapped(f"Numbers of each learner's own, here: {numbers}", "   ")
    for text, first, rest in question.lines(drawn_question, answers):
        yield from _wrapped(text, first, rest)
    if answers:
        if right := question.right_words(drawn_question):
            yield from _wrapped(f"Right: {right}", "   ")
        if question.explanation:
            yield from _wrapped(plain(question.explanation, drawn_question.numbers), "   ")


def _wrapped(text: str, first: str, rest: str | None = None) -> list[str]:
    if not text:
        return []
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=first if rest is None else rest)
