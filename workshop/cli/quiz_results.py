"""What came out of a round of a quiz, and how somebody's data are removed from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workshop.cli import common

if TYPE_CHECKING:
    from workshop.quiz.results.findings import RoundFindings

RoundId = Annotated[int, typer.Argument(metavar="ROUND", help="The round's number.")]


def results(
    round: RoundId,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="A line for each learner and question.")] = None,
    xlsx: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Questions, learners and answers as sheets.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The class report, one page for any browser.")
    ] = None,
    before: Annotated[
        int | None, typer.Option(metavar="ROUND", help="Compare with this earlier round of the same questions.")
    ] = None,
    anonymous: Annotated[bool, typer.Option("--anonymous", help="Learner-1, learner-2, … for nicknames.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over files that are there.")] = False,
    as_json: common.JSON = False,
) -> None:
    """Tell what a round says of its questions and learners, and write it into files."""
    from workshop.core import output_files
    from workshop.quiz.results import reader
    from workshop.quiz.results.findings import find
    from workshop.store.store import Store

    wanted = {"csv": csv, "xlsx": xlsx, "html": html}
    paths = {kind: path for kind, path in wanted.items() if path is not None}
    output_files.check(paths.values(), overwrite)
    with Store.open() as store:
        earlier = None if before is None else reader.read(store, before)
        found = find(reader.read(store, round), earlier, anonymous=anonymous)
    files = []
    for kind, path in paths.items():
        from workshop.quiz.results import report, spreadsheets  # their libraries take a second to import

        data = {"csv": spreadsheets.csv, "xlsx": spreadsheets.xlsx, "html": report.write}[kind](found)
        files.append(output_files.write(path, data))
    if as_json:
        common.answer({**found.as_json(), "files": files})
    elif files:
        print("\n".join(files))
    else:
        _show(found)


def forget(
    round: RoundId,
    nickname: Annotated[str, typer.Argument(metavar="NICKNAME", help="As it stands in the round's results.")],
    yes: Annotated[bool, typer.Option("--yes", help="Remove it; without this, nothing is removed.")] = False,
    as_json: common.JSON = False,
) -> None:
    """Remove a learner's answers and name from a round, for good."""
    from workshop.core import words
    from workshop.core.errors import BadInput
    from workshop.quiz.results import removal
    from workshop.store.store import Store

    with Store.open() as store:
        this = store.round(round)
        player = next((one for one in store.players(round) if one.nickname == nickname), None)
        if player is None:
            raise BadInput(
                f"Nobody in round {round} has the nickname {nickname[:60]!r}; see: workshop quiz results {round}"
            )
        if this.kind == "live" and this.ended_at is None:
            raise BadInput(
                f"Round {round} is still going on; remove a learner's data at /quiz/{round}/results, or after its end."
            )
        count = words.count(len(store.answers(round, player_id=player.id)), "answer")
        if not yes:
            raise BadInput(f"{count} of {nickname} would be removed from round {round} for good; add --yes to do so.")
        gone = removal.forget(store, [player])
    if as_json:
        common.answer({"round": round, "nickname": nickname, "removed": gone})
    else:
        print(
            f"{count} and the nickname are removed from round {round}; files that were written before still hold them."
        )


def _show(found: RoundFindings) -> None:
    """Verdict, questions and learners in a terminal; what was chosen is in the report and in the document."""
    from rich.console import Console
    from rich.text import Text

    from workshop.core import words
    from workshop.report import terminal

    out = Console(highlight=False)
    terminal.show_verdict(out, found.verdict)
    for note in found.results.notes:
        out.print(Text(f"Note: {note}", style="yellow"))
    headings = ("no.", "question", "right", "95 %", "answered", "median", "discrimination")
    questions = terminal.table(headings, right=set(headings) - {"question"}, no_wrap=True)
    questions.columns[1].no_wrap = False
    for item in found.items:
        low, high = item.interval or (None, None)
        questions.add_row(
            str(item.number),
            Text(item.id),
            "" if item.share is None else words.percent(item.share),
            "" if low is None or high is None else f"{words.percent(low)} to {words.percent(high)}",
            f"{item.answered} of {item.there}",
            "" if item.seconds is None else words.seconds(item.seconds.median),
            "" if item.discrimination.value is None else f"{item.discrimination.value:.2f}",
        )
    out.print(questions)
    rows = [
        (
            one.nickname,
            f"{one.points:.3g} of {one.possible:.4g}",
            f"{one.right} of {one.judged}",
            f"{one.answered} of {one.there}",
        )
        for one in found.learners
    ]
    if rows:
        counts = ("points", "right", "answered")
        out.print(terminal.table(("learner", *counts), rows, right=counts))
    for change in found.comparison.changes if found.comparison else ():
        out.print(Text(f"{change.id}: right {change.before} then {change.after} of {change.of}. {change.words}"))
    for note in found.comparison.notes if found.comparison else ():
        out.print(Text(f"Note: {note}", style="yellow"))
