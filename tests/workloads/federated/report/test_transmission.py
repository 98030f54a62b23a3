"""What the page of a federation shows of what left its institutions."""

from __future__ import annotations

from typing import Any

from tests.server import seed
from workshop.report import html
from workshop.report.cards import Card
from workshop.report.panels import panels, side_by_side
from workshop.report.panels.outcome import PREDICTIONS
from workshop.report.snapshot import Snapshot
from workshop.store.records import RunRecord, SessionRecord
from workshop.store.store import Store
from workshop.workloads.federated.communication import messages
from workshop.workloads.federated.report.protection_panels import HOLDS, transmission

TOLD = {
    "secure": "masks",
    "compression": "none",
    "up": [
        {"kind": "public key", "messages": 3, "bytes": 768},
        {"kind": "masked update", "messages": 1500, "bytes": 1_200_000},
    ],
    "down": [{"kind": "missing", "messages": 1500, "bytes": 4500}],
    "rounds": 500,
    "updates": 1500,
    "bytes_updates": 1_200_768,
    "bytes_plain": 600_000,
    "silent": [1, 0, 2],
    "too_large": [0, 0, 0],
    "too_few": 0,
    "uncancelled": 0,
    "seeds": 3,
    "seen": {"round": 1, "institution": 1, "updates": 3, "message": [0.5, 0.5], "sum": [0.0, 1.0]},
}


def shown(store: Store, session: SessionRecord, metrics: dict[str, Any]) -> dict[str, Card]:
    run = begun(store, session, metrics)
    return {card.name: card for card in transmission(Snapshot(store, run))}


def begun(store: Store, session: SessionRecord, metrics: dict[str, Any]) -> RunRecord:
    run = store.submit(session.id, "federated", {"institutions": 3}, seed.PLACEMENT)
    store.set_run(run.id, rank_map=session.rank_map, machine=session.machine, metrics=metrics)
    return store.run(run.id)


def part(card: Card, kind: str) -> Any:
    return next(part for part in card.parts if part["kind"] == kind)


def test_what_was_sent_stands_by_kind_against_plain_updates(store: Store, session: SessionRecord) -> None:
    card = shown(store, session, {"sending": TOLD})["sending"]
    assert [tile["value"] for tile in part(card, "tiles")["tiles"]] == ["1.2 MB", "600 kB", "2 times as many"]
    rows = part(card, "table")["rows"]
    assert rows[1] == ["up", "masked update", "an update and its weight, hidden", "1,500", "1.2 MB"]
    assert [row[0] for row in rows] == ["up", "up", "down"]
    about, silent = (one["lines"][0]["text"] for one in card.parts if one["kind"] == "words")
    assert "can read no update" in about
    assert silent == "Institution 1 in 1 round and institution 3 in 2 rounds."


def test_what_the_aggregator_saw_is_drawn(store: Store, session: SessionRecord) -> None:
    card = shown(store, session, {"sending": TOLD})["seen"]
    assert card.title == "What the aggregator saw in round 1"
    assert [list(bar.y) for bar in part(card, "figure")["figure"].data] == [[0.5, 0.5], [0.0, 1.0]]
    assert "masks are gone" in part(card, "words")["lines"][0]["text"]


def test_masks_that_were_left_in_the_sum_are_said_to_be(store: Store, session: SessionRecord) -> None:
    wrong = {**TOLD, "secure": "unequal", "uncancelled": 500}
    there = shown(store, session, {"sending": wrong})
    assert "don't cancel" in part(there["sending"], "words")["lines"][0]["text"]
    assert "masks are left in it" in part(there["seen"], "words")["lines"][0]["text"]


def test_plain_updates_can_be_read(store: Store, session: SessionRecord) -> None:
    plain = {**TOLD, "secure": "off", "seen": None, "silent": [0, 0, 0], "compression": "topk"}
    there = shown(store, session, {"sending": plain})
    assert list(there) == ["sending"]
    (about,) = (one["lines"][0]["text"] for one in there["sending"].parts if one["kind"] == "words")
    assert "can read every update" in about
    assert "only the largest values" in about


def test_runs_that_have_sent_nothing_have_none_of_it(store: Store, session: SessionRecord) -> None:
    assert shown(store, session, {}) == {}
    assert shown(store, session, {"sending": {**TOLD, "rounds": 0}}) == {}


def test_it_is_on_the_page_and_beside_other_runs(store: Store, session: SessionRecord) -> None:
    snapshot = Snapshot(store, begun(store, session, {"sending": TOLD}))
    PREDICTIONS.lookup(snapshot.run)
    PREDICTIONS.settle()
    assert "seen" in {card.name for panel in panels(snapshot) for card in panel.show(snapshot)}
    assert "seen" in {card.name for card in side_by_side(snapshot)}
    assert "<h3>What left the institutions</h3>" in html.live(transmission(snapshot))


def test_every_kind_of_message_is_explained() -> None:
    """But those of ranks, which nobody counts as sent by institutions."""
    sized = (
        messages.public_keys(1),
        messages.missing(1),
        messages.masked(1),
        messages.scales(1),
        messages.values(1),
        messages.places(1),
    )
    assert {kind.name for kind in (*messages.KINDS, *sized)} - {"share", "report"} == set(HOLDS)
