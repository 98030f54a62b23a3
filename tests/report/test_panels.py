"""Panels as pure functions: what a run's page shows of which runs."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.web import seed, training
from workshop.report.cards import Card
from workshop.report.panels import GENERAL, panels, side_by_side
from workshop.report.run_sections import RunLook
from workshop.report.snapshot import Snapshot
from workshop.store.records import RunRecord, SessionRecord
from workshop.store.store import Store


def shown(store: Store, run: RunRecord) -> dict[str, Card]:
    """All cards of a run's page by their names."""
    snapshot = Snapshot(store, store.run(run.id))
    return {card.name: card for panel in panels(snapshot) for card in panel.show(snapshot)}


def part(card: Card, kind: str) -> Any:
    return next(part for part in card.parts if part["kind"] == kind)


def text(card: Card) -> str:
    return "\n".join(
        f"{line['label']} {line['text']}" for part in card.parts if part["kind"] == "words" for line in part["lines"]
    )


def test_settings_that_horovod_tried(store: Store, session: SessionRecord) -> None:
    run = training.completed(store, session)
    heading = "hierarchical_allreduce,cycle_time_ms,tensor_fusion_threshold,score"
    log = f"{heading}\n0,5,4,23.7\n0,10,8,37.19\n0,25,16,23.8\n"
    store.put_artifact(run.id, "horovod-autotune.csv", "text/plain", log.encode())
    card = shown(store, run)["autotune"]
    assert part(card, "table")["rows"] == [["5", "4", "23.7"], ["10", "8", "37.2"], ["25", "16", "23.8"]]
    assert "Horovod tried 3 settings. The fastest looked for gradients every 10 ms" in text(card)


def test_a_finished_training_run(store: Store, session: SessionRecord) -> None:
    there = shown(store, training.completed(store, session))
    assert list(there) == [
        *(
            "verdict",
            "why",
            "actions",
            "metrics",
            "conditions",
            "loss",
            "accuracy",
            "total images/s",
            "times",
            "spread",
        ),
        *("confusion", "misclassified", "stream", "memory", "spent", "throughput", "timeline"),
        *("threads", "machine", "ranks", "predicted", "files"),
    ]
    assert "scikit-learn's digits" in text(there["conditions"])
    assert "mpi: the usual one" in text(there["conditions"])
    assert [tile["value"] for tile in part(there["throughput"], "tiles")["tiles"]] == [
        *("1,810 images/s", "± 12.9 images/s", "41 images/s", "86 steps")
    ]
    rows = part(there["throughput"], "table")["rows"]
    assert [row[0]["text"] for row in rows] == ["rank 0", "rank 1"]
    assert rows[1][1:] == ["673", "97.1 %", "76 times", "10.7 ms", "615 MB", "the same"]
    assert "Rank 0 waited" in text(there["timeline"])
    assert len(part(there["timeline"], "figure")["figure"].data) > 1
    assert "The commonest mistake is 4 read as 9: 7 times." in text(there["confusion"])
    (matrix,) = part(there["confusion"], "figure")["figure"].data
    assert (matrix.z[4][9], matrix.z[4][4], matrix.text[4][4]) == (7, 0, "38")
    digits = part(there["misclassified"], "pictures")
    assert digits["small"]
    assert digits["pictures"][0]["label"] == "7, read as 1 (83 %)"
    assert digits["pictures"][0]["url"].startswith("data:image/png;base64,")
    assert "13 of 450 held-out images were misread; these are 12 of them." in text(there["misclassified"])
    assert {link["text"] for link in part(there["files"], "links")["links"]} == {
        *("checkpoint.npz", "misclassified.json", "timeline.json")
    }


def test_a_training_run_that_goes_on(store: Store, session: SessionRecord) -> None:
    there = shown(store, training.running(store, session, epochs=1))
    assert list(there) == [
        *("verdict", "why", "metrics", "loss", "accuracy", "total images/s", "times", "spread", "stream"),
        *("machine", "ranks", "predicted"),
    ]
    assert text(there["verdict"]).startswith(" So far")
    accuracy = part(there["accuracy"], "figure")["figure"]
    line, points = accuracy.data
    assert (len(line.y), list(points.x)) == (training.STEPS, [training.STEPS])
    assert line.meta["seconds"][-1] == pytest.approx(1.1, abs=0.02), "a step took a tenth of a second"
    assert [card.name for card in there.values() if card.switch] == ["loss"], "one switch for all curves"


def test_a_kmeans_run_shows_its_photo_and_nothing_of_training(store: Store, session: SessionRecord) -> None:
    there = shown(store, seed.completed(store, session))
    assert list(there) == [
        *("verdict", "why", "actions", "metrics", "photo", "inertia", "times", "stream", "machine", "ranks"),
        *("predicted", "files"),
    ]
    labels = [picture["label"] for picture in part(there["photo"], "pictures")["pictures"]]
    assert labels == ["Before", "After"]
    assert len(part(there["photo"], "figure")["figure"].data) == len(seed.PALETTE)


def test_a_rank_that_waits_is_shown_as_long_as_it_does(store: Store, session: SessionRecord) -> None:
    run = training.running(store, session, epochs=1)
    store.set_run(run.id, activity={"words": "training", "phases": {"0": ["wait", time.time() - 30], "1": None}})
    stream = part(shown(store, run)["stream"], "figure")
    assert stream["label"].startswith("Task stream. Rank 0 waits for others, ")
    lanes = {bar.name: list(bar.y) for bar in stream["figure"].data}
    assert 0 in lanes["wait"]
    store.finish(run.id, "completed")
    assert "30 s" not in part(shown(store, run)["stream"], "figure")["label"], "the run has ended"


def test_a_run_in_the_past(store: Store, session: SessionRecord) -> None:
    run = training.completed(store, session)
    times = [event.time for event in store.events(run.id, ["time.compute"], rank=0)]
    past = Snapshot(store, run, times[20] + 0.001)
    assert past.totals["time.compute"][0][0] == 21
    assert [len(series.steps) for series in past.series("loss")] == [21]
    cards = {card.name: card for panel in panels(past) for card in panel.show(past)}
    assert {"files", "spent"}.isdisjoint(cards), "what came later isn't there yet"
    assert text(cards["verdict"]).startswith(" So far")
    bars = part(cards["stream"], "figure")["figure"].data
    ends = [base + length for bar in bars for base, length in zip(bar.base, bar.x, strict=True)]
    assert max(ends) == pytest.approx(past.until - run.started_at, abs=0.001)
    start = Snapshot(store, run, times[0] - 60)
    assert (start.events, start.totals, start.artifacts) == (0, {}, {})


def test_a_run_with_a_checkpoint_can_be_gone_on_from(store: Store, session: SessionRecord) -> None:
    run = training.killed(store, session)
    (link,) = part(shown(store, run)["again"], "links")["links"]
    assert link["url"] == f"run?run={run.id}&again={run.id}"
    assert "again" not in shown(store, training.completed(store, session)), "it is done"
    assert "again" not in shown(store, seed.failed(store, session, "no luck")), "it has no checkpoint"


def test_the_paths_of_the_server_are_not_shown(store: Store, session: SessionRecord) -> None:
    run = seed.running(store, session, steps=1)
    trace = 'Traceback (most recent call last):\n  File "/home/teacher/secret/lab.py", line 3, in go\n    go()\n'
    error = {"rank": 1, "host": "laptop", "type": "ValueError", "message": "no", "traceback": trace}
    store.finish(run.id, "failed", error=error)
    fold = part(shown(store, run)["error"], "fold")
    assert '  File "lab.py", line 3, in go\n    go()\n' in fold["text"]
    assert "teacher" not in fold["text"]


def test_what_can_t_be_read_leaves_the_other_panels_alone(store: Store, session: SessionRecord) -> None:
    run = training.completed(store, session)
    store.put_artifact(run.id, "timeline.json", "application/json", b"{")
    store.put_artifact(run.id, "misclassified.json", "application/json", b'[{"label": 7}]')
    sections = RunLook(store, run.id)()
    for name in ("timeline", "misclassified"):
        assert "be shown: the run left" in json.loads(sections[name])["html"]
    assert "<dd>" in json.loads(sections["throughput"])["html"]


def test_only_what_has_changed_is_made_again(store: Store, session: SessionRecord) -> None:
    run = training.running(store, session, epochs=1)
    training.keep(store, run.id)
    look = RunLook(store, run.id)
    assert {panel.name for panel in GENERAL} <= look().keys()
    assert look().keys() == {"panels", "run"}
    training.tell(store, run.id, 2)
    assert look().keys() == {"panels", "run", "verdict", "curves", "stream", "memory", "told"}
    store.put_artifact(run.id, "checkpoint.npz", "application/octet-stream", b"other weights")
    assert look().keys() == {"panels", "run", "again", "files"}, "the timeline is the same"


def test_side_by_side_has_what_can_be_compared(store: Store, session: SessionRecord) -> None:
    of = side_by_side(Snapshot(store, training.completed(store, session)))
    assert [card.name for card in of] == ["conditions", "times", "throughput", "machine", "ranks"]
    of = side_by_side(Snapshot(store, seed.completed(store, session)))
    assert [card.name for card in of] == ["photo", "times", "machine", "ranks"]
