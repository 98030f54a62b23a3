"""The page of a benchmark: its printed lines beside the panels of any training run."""

from __future__ import annotations

from tests.web import seed
from workshop.extension import OUTPUT
from workshop.report.snapshot import Snapshot
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.workloads.resnet.report import PANELS, printed

LINES = "Iter #0: 12.3 img/sec per CPU\nImg/sec per CPU: 12.3 +-0.0\n"


def test_printed_lines_stand_beside_the_published_rates(store: Store, session: SessionRecord) -> None:
    run = store.submit(session.id, "resnet", {}, seed.PLACEMENT)
    assert printed(Snapshot(store, store.run(run.id))) == [], "a run that has printed nothing yet"
    store.put_artifact(run.id, OUTPUT, "text/plain", LINES.encode())
    (card,) = printed(Snapshot(store, store.run(run.id)))
    text, cited = card.parts
    assert text["text"] == LINES
    assert "334.0 images/s" in str(cited) and "Ohio State University" in str(cited)


def test_panels_of_training_runs_come_too() -> None:
    assert {"printed", "throughput", "timeline", "spent", "conditions"} <= {panel.name for panel in PANELS}
