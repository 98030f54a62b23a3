"""What a run of the data-parallel U-Net says, and what its page shows."""

from __future__ import annotations

import json
from typing import Any

from tests.report.analysis.cases import run, times
from tests.web import seed
from workshop.report.snapshot import Snapshot
from workshop.report.verdict import verdict
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.workloads.unet.report import PANELS, overlays

TOTALS = times([8.0, 8.0], [0.3, 0.3], [0.1, 0.1], [0.0, 0.0])
METRICS = {
    "exchange": "horovod",
    "epochs": 10,
    "updates": 240,
    "measured_steps": 238,
    "images_per_second": 161.0,
    "seconds": {"train": 12.0},
    "held_out_dice": 0.8125,
    "lesion_pixels": 0.064,
    "empty_images": 0.0,
    "target": 0.8,
    "time_to_target": 9.5,
    "epochs_to_target": 8,
    "loss": 0.2,
    "diverged": False,
    "spread": 0.0,
    "weights": ["a", "a"],
}
PARAMS = {"batch": 4, "epochs": 10}


def words(metrics: dict[str, Any] | None = None, **changes: Any) -> dict[str, str]:
    return verdict(run(workload="unet", params=PARAMS, metrics=METRICS | (metrics or {}), **changes), TOTALS)


def test_the_verdict_has_the_dice_score_the_images_and_the_published_gain() -> None:
    text = words()
    assert text["verdict"] == "Trained to a held-out Dice score of 81.2 % in 12 s at 161 images/s."
    assert "The target of 80 % was reached after 9.5 s of training (8 epochs)." in text["why"]
    assert "Of the training images' pixels 6 % are lesions. Published" in text["why"]
    assert "a speed-up of 1.84 and an efficiency of 92 %: 72 hours of training became 39" in text["why"]
    assert "Distributed DL/ML Solutions for HPC systems, Intel (Sobhee 2021)" in text["why"]
    assert "how close to 2 times as fast is it?" in text["next"]


def test_outlines_stand_beside_the_panels_of_training(store: Store, session: SessionRecord) -> None:
    record = store.submit(session.id, "unet", {}, seed.PLACEMENT)
    assert overlays(Snapshot(store, store.run(record.id))) == [], "a run that has kept no picture yet"
    patients = [{"share": 0.07, "dice": 0.815}, {"share": 0.0, "dice": 1.0}]
    document = json.dumps({"epoch": 3, "patients": patients}).encode()
    store.put_artifact(record.id, "overlays.png", "image/png", b"PNG")
    store.put_artifact(record.id, "overlays.json", "application/json", document)
    (card,) = overlays(Snapshot(store, store.run(record.id)))
    notes, image, table = card.parts
    assert "outlines of 2 held-out patients after epoch 3" in str(image)
    assert table["rows"] == [["1", "7 %", "82 %"], ["2", "0 %", "100 %"]]
    assert "72 hours of training became 39" in str(notes)
    assert {"overlays", "throughput", "timeline", "conditions"} <= {panel.name for panel in PANELS}
