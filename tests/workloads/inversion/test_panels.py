"""What the page of an attack on updates shows, while it goes on and afterwards."""

from __future__ import annotations

import time
from typing import Any

from tests.report.test_panels import part, shown, text
from tests.server import seed
from tests.workloads.inversion.test_verdict import GONE, GOOD, POOR
from workshop.report.panels import side_by_side
from workshop.report.snapshot import Snapshot
from workshop.store.records import RunRecord, SessionRecord
from workshop.store.store import Store


def begun(store: Store, session: SessionRecord, picture: bool = True) -> RunRecord:
    run = store.submit(session.id, "inversion", {"protect": "sum"}, seed.PLACEMENT)
    assert store.take_next(session.id).id == run.id
    store.set_run(run.id, rank_map=session.rank_map, machine=session.machine, metrics={"train_images": 1437})
    for rank in (0, 1):
        told = {"distance": 0.1, "likeness": 12.0, "correlation": 0.5, "time.compute": 0.2}
        events = [(time.time(), name, step, value) for step in (5, 10) for name, value in told.items()]
        store.add_events(run.id, rank, 1, events)
    if picture:
        store.put_artifact(run.id, "recovered.png", "image/png", seed.png())
    return store.run(run.id)


def ended(store: Store, session: SessionRecord, pictures: list[dict[str, Any]]) -> RunRecord:
    run = begun(store, session)
    store.finish(run.id, "completed", metrics={"pictures": pictures, "train_images": 1437})
    return store.run(run.id)


def test_a_search_that_goes_on_shows_its_newest_picture_and_its_curves(store: Store, session: SessionRecord) -> None:
    there = shown(store, begun(store, session))
    (picture,) = part(there["inversion"], "pictures")["pictures"]
    assert picture["label"] == "So far"
    assert "recovered.png" in picture["url"]
    assert "never sent" in text(there["inversion"])
    assert {"likeness", "distance", "correlation"} <= there.keys()
    assert len(part(there["likeness"], "figure")["figure"].data) == 2, "a line for each rank"
    assert "in dB" in text(there["likeness"])
    assert not any(one["kind"] == "table" for one in there["inversion"].parts)


def test_what_came_of_each_digit_stands_in_a_table(store: Store, session: SessionRecord) -> None:
    card = shown(store, ended(store, session, [GOOD, {**POOR, "rank": 1, "read": 3}, GONE]))["inversion"]
    table = part(card, "table")
    assert "Institution" not in table["headings"]
    assert [row[0]["text"] for row in table["rows"]] == ["rank 0", "rank 1", "rank 0"]
    assert table["rows"][0][1:] == ["5", "5", "50.0 dB", "0.990", "0.800", "recovered"]
    assert table["rows"][1][1:3] == ["5", "3"]
    assert [row[-1] for row in table["rows"]] == ["recovered", "told apart", "lost"]
    assert "a PSNR of 20 dB at least" in text(card)


def test_of_a_sum_it_says_whose_each_digit_is(store: Store, session: SessionRecord) -> None:
    run = ended(store, session, [{**GOOD, "institution": one + 1} for one in range(40)])
    card = shown(store, run)["inversion"]
    table = part(card, "table")
    assert table["headings"][1] == "Institution"
    assert [row[1] for row in table["rows"]] == [str(one) for one in range(1, 33)]
    assert "These are 32 of 40 images." in text(card)
    assert "inversion" in {one.name for one in side_by_side(Snapshot(store, run))}


def test_other_runs_have_none_of_it(store: Store, session: SessionRecord) -> None:
    assert "inversion" not in shown(store, seed.running(store, session))
    assert "inversion" not in shown(store, begun(store, session, picture=False))
