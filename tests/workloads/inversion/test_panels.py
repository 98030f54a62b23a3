"""What the page of an attack on updates shows, afterwards."""

from __future__ import annotations

from typing import Any

from tests.report.test_panels import part, shown, text
from tests.web import seed
from tests.workloads.inversion.test_verdict import GONE, GOOD, POOR
from workshop.report.panels import side_by_side
from workshop.report.snapshot import Snapshot
from workshop.store.records import RunRecord, SessionRecord
from workshop.store.store import Store


def begun(store: Store, session: SessionRecord, picture: bool = True) -> RunRecord:
    run = store.submit(session.id, "inversion", {}, seed.PLACEMENT)
    assert store.take_next(session.id).id == run.id
    store.set_run(run.id, rank_map=session.rank_map, machine=session.machine, metrics={"train_images": 1437})
    if picture:
        store.put_artifact(run.id, "recovered.png", "image/png", seed.png())
    return store.run(run.id)


def ended(store: Store, session: SessionRecord, pictures: list[dict[str, Any]]) -> RunRecord:
    run = begun(store, session)
    store.finish(run.id, "completed", metrics={"pictures": pictures, "train_images": 1437})
    return store.run(run.id)


def test_what_came_of_each_digit_stands_in_a_table(store: Store, session: SessionRecord) -> None:
    card = shown(store, ended(store, session, [GOOD, {**POOR, "rank": 1, "read": 3}, GONE]))["inversion"]
    table = part(card, "table")
    assert [row[0]["text"] for row in table["rows"]] == ["rank 0", "rank 1", "rank 0"]
    assert table["rows"][0][1:] == ["5", "5", "50.0 dB", "0.990", "0.800", "recovered"]
    assert table["rows"][1][1:3] == ["5", "3"]
    assert [row[-1] for row in table["rows"]] == ["recovered", "told apart", "lost"]
    assert "a PSNR of 20 dB at least" in text(card)


def test_many_images_are_cut(store: Store, session: SessionRecord) -> None:
    run = ended(store, session, [GOOD] * 40)
    card = shown(store, run)["inversion"]
    (picture,) = part(card, "pictures")["pictures"]
    assert "recovered.png" in picture["url"] and "never sent" in text(card)
    assert len(part(card, "table")["rows"]) == 32
    assert "inversion" in {one.name for one in side_by_side(Snapshot(store, run))}
