"""What the page of a run that outlines lesions shows besides what every federation does."""

from __future__ import annotations

import json
from typing import Any

from tests.report.test_panels import part, shown
from tests.web import seed
from workshop.store.records import RunRecord, SessionRecord
from workshop.store.store import Store

WAYS = ["federated", "centralised", "alone"]
PATIENTS = [
    {"institution": 1, "lesions": 2, "dice": dict(zip(WAYS, (0.81, 0.84, 0.5), strict=True))},
    {"institution": 2, "lesions": 0, "dice": dict.fromkeys(WAYS, 1.0)},
]


def begun(store: Store, session: SessionRecord, **params: Any) -> RunRecord:
    run = store.submit(session.id, "segmentation", {"way": "all"} | params, seed.PLACEMENT)
    assert store.take_next(session.id).id == run.id
    known = [{"rank": one, "images": 30, "validation": 8} for one in range(2)]
    metrics = {"ways": WAYS, "institutions": known, "measure": "Dice", "bytes_model": 480_000}
    store.set_run(run.id, rank_map=session.rank_map, machine=session.machine, metrics=metrics)
    return store.run(run.id)


def looked(store: Store, run: RunRecord, number: int, picture: bytes) -> None:
    store.put_artifact(run.id, "overlays.png", "image/png", picture)
    figures = json.dumps({"round": number, "patients": PATIENTS}).encode()
    store.put_artifact(run.id, "overlays.json", "application/json", figures)


def test_the_picture_comes_with_its_legend_and_a_table(store: Store, session: SessionRecord) -> None:
    run = begun(store, session)
    looked(store, run, 4, seed.png())
    card = shown(store, run)["overlays"]
    shown_pictures = part(card, "pictures")
    (picture,) = shown_pictures["pictures"]
    assert shown_pictures["wide"]
    assert picture["label"] == "CT, PET and outlines of 2 held-out patients after round 4"
    assert picture["url"].startswith(f"artifact/{run.id}/overlays.png?v=")
    lines = [line["text"] for line in part(card, "words")["lines"]]
    assert "blue" in lines[0] and "orange" in lines[0]
    assert "don't exist" in lines[1]
    table = part(card, "table")
    assert table["headings"][3:] == ["Dice: Federated", "Dice: Pooled", "Dice: Institution 1 alone"]
    assert table["rows"] == [
        ["1", "institution 1", "2", "81 %", "84 %", "50 %"],
        ["2", "institution 2", "none", "100 %", "100 %", "100 %"],
    ]
    looked(store, run, 8, seed.png("#ffffff"))
    later = part(shown(store, run)["overlays"], "pictures")["pictures"][0]
    assert later["url"] != picture["url"] and later["label"].endswith("after round 8")


def test_three_measures_are_told_at_the_end(store: Store, session: SessionRecord) -> None:
    run = begun(store, session, alpha=0.3, beta=0.7)
    assert "overlap" not in shown(store, run)
    told = {"federated": {"dice": 0.6, "jaccard": 0.43, "tversky": 0.65}}
    store.set_run(run.id, metrics=store.run(run.id).metrics | {"overlap": told})
    table = part(shown(store, run)["overlap"], "table")
    assert table["headings"] == ["Way", "Dice", "Jaccard", "Tversky (0.3, 0.7)"]
    assert table["rows"] == [["Federated", "60 %", "43 %", "65 %"]]
