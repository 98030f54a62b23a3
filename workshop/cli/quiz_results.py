"""Commands for the results of a quiz round, and for removing a player's data from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workshop.cli import common

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

    requested = {"csv": csv, "xlsx": xlsx, "html": html}
    paths = {kind: path for kind, path in requested.items() if path is not None}
    output_files.check(paths.values(), overwrite)
    with Store.open() as store:
        earlier = None if before is None else reader.read(store, before)
        round_findings = find(reader.read(store, round), earlier, anonymous=anonymous)
    files = []
    for kind, path in paths.items():
        from workshop.quiz.results import report, spreadsheets

        data = {"csv": spreadsheets.csv, "xlsx": spreadsheets.xlsx, "html": report.write}[kind](round_findings)
        files.append(output_files.write(path, data))
    if as_json:
        common.answer({**round_findings.as_json(), "files": files})
    elif files:
        print("\n".join(files))
    else:
        from rich.console import Console

        from workshop.quiz.results.cards import summary
        from workshop.report import terminal

        terminal.show(Console(highlight=False), summary(round_findings), most_rows=len(round_findings.learners) + 100)


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
        player = next((each for each in store.players(round) if each.nickname == nickname), None)
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
