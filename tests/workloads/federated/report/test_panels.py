"""What the page of a federation shows, while it goes on and afterwards."""

from __future__ import annotations

import time
from typing import Any

from tests.report.test_panels import part, shown
from tests.web import seed
from workshop.report.cards import Card
from workshop.report.panels import side_by_side
from workshop.report.snapshot import Snapshot
from workshop.store.records import RunRecord, SessionRecord
from workshop.store.store import Store

INSTITUTIONS = [{"rank": one % 2, "images": 40 + one, "validation": 10, "labels": [5 + one] * 10} for one in range(2)]
FIRST = {"ways": ["federated", "centralised", "alone"], "institutions": INSTITUTIONS, "bytes_model": 900_136}


def begun(store: Store, session: SessionRecord, rounds: int, **known: Any) -> RunRecord:
    """A federation of two institutions after some rounds."""
    run = store.submit(session.id, "federated", {"way": "all", "institutions": 2}, seed.PLACEMENT)
    assert store.take_next(session.id).id == run.id
    store.set_run(run.id, rank_map=session.rank_map, machine=session.machine, metrics=FIRST | known)
    for rank in (0, 1):
        store.add_events(run.id, rank, 1, [event for one in range(1, rounds + 1) for event in told(rank, one)])
    return store.run(run.id)


def told(rank: int, number: int) -> list[tuple[float, str, int, float]]:
    share = 1 - 0.5**number
    values = {"time.train": 0.5 + 0.5 * rank, "time.wait": 0.5 - 0.5 * rank}
    if rank == 0:
        values |= {
            "held-out accuracy": share,
            "own accuracy": share,
            "loss": 1 - share,
            "accuracy": share,
            "drift": 0.5,
        }
        values |= {
            f"{way} {what} accuracy": share / 2 for way in ("centralised", "alone") for what in ("held-out", "own")
        }
        values |= {"bytes down": 1_800_000, "bytes up": 1_900_000, "total images/s": 500.0}
        values |= {f"institution {one} global accuracy": share for one in (1, 2)}
        values |= {"institution 2 own accuracy": share / 4}  # the first one didn't take part
    return [(time.time(), name, number, float(value)) for name, value in values.items()]


def figure(card: Card) -> Any:
    return part(card, "figure")["figure"]


def test_a_federation_that_goes_on_is_drawn_by_round(store: Store, session: SessionRecord) -> None:
    there = shown(store, begun(store, session, rounds=3))
    assert [trace.name for trace in figure(there["ways"]).data] == ["federated", "pooled images", "each alone"]
    assert list(figure(there["ways"]).data[0].y) == [0.5, 0.75, 0.875]
    assert list(figure(there["ways-own"]).data[2].y) == [0.25, 0.375, 0.4375]
    assert [list(row) for row in figure(there["institutions-global"]).data[0].z] == [[0.5, 0.75, 0.875]] * 2
    assert [list(row) for row in figure(there["institutions-own"]).data[0].z] == [[None] * 3, [0.125, 0.1875, 0.21875]]
    assert [list(row) for row in figure(there["institutions"]).data[0].z] == [[5] * 10, [6] * 10]
    values = {tile["label"]: tile["value"] for tile in part(there["bytes"], "tiles")["tiles"]}
    assert values == {"down": "5.4 MB", "up": "5.7 MB", "down in a round": "1.8 MB", "up in a round": "1.9 MB"}
    assert "ways-table" not in there, "what it came to is known at the end"


def test_a_finished_federation_says_what_each_way_came_to(store: Store, session: SessionRecord) -> None:
    run = begun(store, session, rounds=2)
    came = {"held_out_score": 0.961, "own_score": 0.97, "images_read": 34_500, "held_out": [0.9, 0.961]}
    own = {"federated": 0.9, "centralised": 0.95, "alone": 1.0}
    ended = [{**one, "took_part": 2, "own_score": own, "held_out_alone": 0.41} for one in INSTITUTIONS]
    metrics = FIRST | {
        "by_way": dict.fromkeys(FIRST["ways"], came),
        "institutions": ended,
        "bytes_up": 54_000_000,
        "bytes_down": 57_000_000,
        "bytes_of_images": 901_600,
        "train_images": 1150,
        "rounds": 2,
    }
    store.finish(run.id, "completed", metrics=metrics, error=None, verdict=None)
    there = shown(store, run)
    rows = part(there["ways-table"], "table")["rows"]
    assert rows[0] == ["Federated", "96.1 %", "97 %", "34,500", "updates, 54 MB; no image"]
    assert [row[-1] for row in rows[1:]] == ["all 1,150 images, 902 kB", "nothing"]
    table = part(there["institutions-end"], "table")
    assert table["headings"] == ["Institution", "Federated", "Pooled", "Alone", "Alone, held-out images"]
    assert table["rows"][0] == ["1", "90 %", "95 %", "100 %", "41 %"]
    assert part(there["institutions"], "table")["rows"][0][4] == "2 rounds"
    labels = {tile["label"] for tile in part(there["metrics"], "tiles")["tiles"]}
    assert "rounds" in labels
    assert not any("size" in label for label in labels), "the card of what was sent has them"
    assert {"ways", "institutions", "bytes"} <= {card.name for card in side_by_side(Snapshot(store, store.run(run.id)))}
