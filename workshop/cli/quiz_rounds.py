"""Rounds of quizzes from the command line: begin one, list them, their results, and the removal of a player's data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workshop.cli import common

if TYPE_CHECKING:
    from workshop.store.records import QuizRound
    from workshop.store.store import Store


def host(
    deck: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A lab's deck, or a deck's YAML file.")],
    session: Annotated[
        str, typer.Option(metavar="NAME", help="Where predictions are measured; default: the newest session.")
    ] = "",
    speed_bonus: Annotated[
        bool, typer.Option("--speed-bonus", help="Right answers at once give up to half as much again.")
    ] = False,
    vote_twice: Annotated[
        bool, typer.Option("--vote-twice", help="Learners may talk and vote again on a question (peer instruction).")
    ] = False,
    as_json: common.JSON = False,
) -> None:
    """Begin a live round in the dashboard that runs. The addresses to join it and to lead it are printed."""
    from workshop.core.errors import WorkshopError
    from workshop.quiz import reader
    from workshop.web import address
    from workshop.web.quiz import rounds

    path = reader.find(deck)
    deck_read = reader.read(path)
    with common.store() as store:
        where = address.dashboard(store)
        if where is None:
            raise WorkshopError("No dashboard answers that learners could join; start one with: workshop up")
        if session:
            store.session(session)
        record = rounds.host(
            store,
            deck_read,
            path.absolute().parent,
            session=session,
            speed_bonus=speed_bonus,
            vote_twice=vote_twice,
        )
    links = rounds.links(where, record)
    if as_json:
        common.answer({"round": record.id, "code": record.code, "title": record.title, "links": links})
        return
    print(f"\n  Join code  {record.code}\n  Learners   {links['join']}")
    print(f"  Host       {links['host']}\n  Projector  {links['projector']}\n")
    common.stderr().print("Open the last two in the browser in which you are the instructor.")


def rounds(
    going_on: Annotated[bool, typer.Option("--going-on", help="Only those that haven't ended.")] = False,
    as_json: common.JSON = False,
) -> None:
    """List live rounds, the newest first."""

    with common.store() as store:
        summaries = [_summary(store, record) for record in store.rounds("live", going_on=going_on)]
    headings = ("round", "code", "deck", "title", "phase", "question", "players", "answers")
    rows = []
    for summary in summaries:
        code = "-" if summary["phase"] == "ended" else summary["code"]
        row = summary | {"code": code, "question": f"{summary['number']} of {summary['of']}"}
        rows.append([str(row[name]) for name in headings])
    empty = "There is no live round; begin one with: workshop quiz host NAME"
    common.listing(as_json, summaries, headings, rows, empty=empty)


def _summary(store: Store, record: QuizRound) -> dict[str, Any]:
    return {
        "round": record.id,
        "code": record.code,
        "deck": record.name,
        "title": record.title,
        "phase": record.state.get("phase", "lobby"),
        "number": record.state.get("position", -1) + 1,
        "of": len(record.deck["questions"]),
        "players": sum(not player.removed for player in store.players(record.id)),
        "answers": len(store.answers(record.id)),
        "created_at": record.created_at,
        "ended_at": record.ended_at,
    }


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
    gradebook: common.Gradebook = None,
    anonymous: Annotated[bool, typer.Option("--anonymous", help="Learner-1, learner-2, … for nicknames.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over files that are there.")] = False,
    as_json: common.JSON = False,
) -> None:
    """Show what a round says of its questions and learners. Options write it into files."""
    from workshop.core import output_files
    from workshop.quiz.results import record, spreadsheets
    from workshop.quiz.results import spreadsheets as grades
    from workshop.quiz.results.findings import find
    from workshop.web.quiz.results import write_report

    with common.store() as store:
        findings = find(record.read(store, round), anonymous=anonymous)
    writers = [(csv, lambda: spreadsheets.csv(findings)), (xlsx, lambda: spreadsheets.xlsx(findings))]
    writers.append((html, lambda: write_report(findings)))
    if gradebook is not None:
        name = f"{findings.results.deck.deck}-round-{round}.grades-{gradebook}.csv"
        writers.append((Path(name), lambda: grades.of_round(findings).write(gradebook)))
    requested = [(path, write) for path, write in writers if path is not None]
    output_files.check([path for path, _ in requested], overwrite)
    files = [output_files.write(path, write()) for path, write in requested]
    if as_json:
        common.answer({**findings.as_json(), "files": files})
    elif files:
        print("\n".join(files))
    else:
        from rich.console import Console

        from workshop.quiz.results.cards import summary
        from workshop.report import terminal

        terminal.show(Console(highlight=False), summary(findings), most_rows=len(findings.learners) + 100)


def forget(
    round: RoundId,
    nickname: Annotated[str, typer.Argument(metavar="NICKNAME", help="As it stands in the round's results.")],
    yes: Annotated[bool, typer.Option("--yes", help="Remove it; without this, nothing is removed.")] = False,
    as_json: common.JSON = False,
) -> None:
    """Remove a learner's answers and name from a round, for good."""
    from workshop.core import words
    from workshop.core.errors import BadInput

    with common.store() as store:
        players = store.players(store.round(round).id)
        player = next((each for each in players if each.nickname == nickname), None)
        if player is None:
            raise BadInput(
                f"Nobody in round {round} has the nickname {nickname[:60]!r}; see: workshop quiz results {round}"
            )
        if not yes:
            raise BadInput(f"All answers of {nickname} would be removed from round {round}; add --yes to do so.")
        gone = store.forget_player(player.id)
    if as_json:
        common.answer({"round": round, "nickname": nickname, "removed": gone})
    else:
        count = words.count(gone, "answer")
        print(f"{count} and the nickname are removed from round {round}; files of before still hold them.")
