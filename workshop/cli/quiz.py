"""Ask a class questions: decks, live rounds and their results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workshop.cli import common, quiz_rounds

if TYPE_CHECKING:
    from workshop.quiz.gift.texts import Loss
    from workshop.quiz.reader import DeckProblem

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
        except reader.BadDeck as error:
            summaries.append({"file": str(path), "problems": [vars(problem) for problem in error.problems]})
            common.stderr().print(str(error), soft_wrap=True)
        except BadInput as error:
            summaries.append({"file": name, "problems": [{"line": None, "where": "", "text": str(error)}]})
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
    from workshop.quiz import reader

    common.answer(reader.schema())


@app.command()
def show(
    deck: DeckName,
    answers: Annotated[bool, typer.Option("--answers", help="Show what is right, too.")] = False,
    as_json: common.JSON = False,
) -> None:
    """Show a deck's questions; what is right only with --answers."""
    from workshop.cli.show_quiz import show_deck, without_answers
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
