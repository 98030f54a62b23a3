"""Quizzes: decks of questions, rounds with a class, what came out of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workshop.cli import common, quiz_rounds

if TYPE_CHECKING:
    from workshop.quiz.formats import Lost
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
    """Check decks, and tell everything that is wrong with them; 2 is returned where something is."""
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
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What another program has written.")],
    format: Annotated[
        str | None, typer.Option("--format", help="gift, moodle, qti or aiken; default: by the file's ending.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The deck to write; default: standard output.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over files that are there.")] = False,
    as_json: common.JSON = False,
) -> None:
    """Make a deck of a file of another program, and tell what it can't hold. Pictures are written beside the deck."""
    from workshop.core import output_files
    from workshop.quiz import formats, reader

    imported = formats.read(file, format)
    text = reader.dump(imported.deck)
    written = []
    if out is not None:
        output_files.check([out, *(out.parent / name for name in imported.pictures)], overwrite)
        written = [
            output_files.write(out, text.encode()),
            *(output_files.write(out.parent / n, data) for n, data in imported.pictures.items()),
        ]
    _tell(imported.lost)
    problems = _to_mend(text, out, bool(imported.pictures))
    if as_json:
        lost = [loss.as_json() for loss in imported.lost]
        files = {"files": written, "lost": lost, "problems": [vars(problem) for problem in problems]}
        common.answer({"deck": imported.deck.model_dump(mode="json"), **files})
    elif out is None:
        print(text, end="")
        if imported.pictures:
            common.stderr().print(
                f"Pictures are written with --out only: {', '.join(imported.pictures)}", soft_wrap=True
            )
    else:
        print("\n".join(written))


@app.command()
def export(
    deck: DeckName,
    format: Annotated[str, typer.Option("--format", help="gift, moodle, qti, aiken or jupyterquiz.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file to write; default: the deck's name, in this folder.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over a file that is there.")] = False,
    as_json: common.JSON = False,
) -> None:
    """Write a deck for another program, and tell what its format can't carry."""
    from workshop.core import output_files
    from workshop.quiz import formats, reader

    chosen = formats.named(format)
    path = reader.find(deck)
    deck_read = reader.read(path)
    pictures, missing = _pictures(deck_read, path.parent)
    exported = formats.write(deck_read, format, pictures)
    file = out or Path(f"{deck_read.deck}{chosen.endings[0]}")
    output_files.check([file], overwrite)
    written = output_files.write(file, exported.data)
    lost = (*missing, *exported.lost)
    _tell(lost)
    if as_json:
        common.answer(
            {"deck": deck_read.deck, "format": format, "file": written, "lost": [loss.as_json() for loss in lost]}
        )
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


def _pictures(deck: Any, folder: Path) -> tuple[dict[str, bytes], tuple[Lost, ...]]:
    """The pictures of a deck's questions by name, and the pictures that can't be shown."""
    from workshop.core.errors import BadInput
    from workshop.quiz import pictures
    from workshop.quiz.formats import Lost

    found_pictures, missing = {}, []
    for question in deck.questions:
        if question.picture is not None:
            try:
                found_pictures[question.picture.file] = pictures.load(folder, question.picture).data
            except BadInput as error:
                missing.append(Lost(question.id, str(error), "picture"))
    return found_pictures, tuple(missing)


def _to_mend(text: str, out: Path | None, pictured: bool) -> tuple[DeckProblem, ...]:
    """The faults of an imported deck, also printed on standard error. Other programs accept decks that this one
    refuses, such as two forms of an answer that only differ in case."""
    from workshop.quiz import reader

    if out is None and pictured:
        return ()  # its pictures are nowhere yet
    try:
        reader.parse(text, str(out or "The deck"), out and out.parent)
    except reader.BadDeck as error:
        common.stderr().print(f"To be mended before the deck can be used:\n{error}", soft_wrap=True)
        return error.problems
    return ()


def _tell(lost: tuple[Lost, ...]) -> None:
    """Print each question's losses on standard error."""
    by_question: dict[str, list[str]] = {}
    for loss in lost:
        by_question.setdefault(loss.question, []).append(loss.what)
    for question, what in by_question.items():
        common.stderr().print(f"Lost: {f'{question}: ' if question else ''}{'; '.join(what)}", soft_wrap=True)
