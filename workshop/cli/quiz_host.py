"""Live rounds from the command line: begin one, list them."""

from __future__ import annotations

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
    no_ranking: Annotated[bool, typer.Option("--no-ranking", help="Show nobody's points to others.")] = False,
    vote_twice: Annotated[
        bool, typer.Option("--vote-twice", help="Learners may talk and vote again on a question (peer instruction).")
    ] = False,
    as_json: common.JSON = False,
) -> None:
    """Begin a live round in the dashboard that runs (workshop up), and print where it is joined and led from."""
    from workshop.core.errors import WorkshopError
    from workshop.quiz import reader
    from workshop.server import address
    from workshop.server.quiz import round_start
    from workshop.store.store import Store

    path = reader.find(deck)
    deck_read = reader.read(path)
    with Store.open() as store:
        where = address.dashboard(store)
        if where is None:
            raise WorkshopError("No dashboard answers that learners could join; start one with: workshop up")
        if session:
            store.session(session)
        record = round_start.host(
            store,
            deck_read,
            path.absolute().parent,
            session=session,
            speed_bonus=speed_bonus,
            ranking=not no_ranking,
            vote_twice=vote_twice,
        )
    links = round_start.links(where, record)
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
    from workshop.store.store import Store

    with Store.open() as store:
        summaries = [_summary(store, record) for record in store.rounds("live", going_on=going_on)]
    headings = ("round", "code", "deck", "title", "phase", "question", "players", "answers")
    rows = []
    for summary in summaries:
        at = f"{summary['number']} of {summary['of']}"
        code, counts = summary["code"] if summary["phase"] != "ended" else "-", (summary["players"], summary["answers"])
        rows.append(
            (str(summary["round"]), code, summary["deck"], summary["title"], summary["phase"], at, *map(str, counts))
        )
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
