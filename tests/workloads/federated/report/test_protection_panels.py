"""What the page of a federation shows of attack and defence, while it goes on and afterwards."""

from __future__ import annotations

import time
from typing import Any

from tests.report.test_panels import part, shown
from tests.web import seed
from tests.workloads.federated.report.test_panels import figure
from workshop.store.records import RunRecord, SessionRecord
from workshop.store.store import Store

INSTITUTIONS = [{"rank": 0, "images": 40, "validation": 10} for _ in range(3)]
FIRST = {"ways": ["federated", "plain"], "institutions": INSTITUTIONS, "measure": "accuracy"}


def guarded(
    store: Store, session: SessionRecord, events: dict[str, list[float]], params: dict, **known: Any
) -> RunRecord:
    run = store.submit(session.id, "federated", {"institutions": 3, **params}, seed.PLACEMENT)
    assert store.take_next(session.id).id == run.id
    store.set_run(run.id, rank_map=session.rank_map, machine=session.machine, metrics=FIRST | known)
    rounds = [
        (time.time(), name, number, value) for name, values in events.items() for number, value in enumerate(values, 1)
    ]
    store.add_events(run.id, 0, 1, rounds)
    return store.run(run.id)


DISTANCES = {f"institution {one} distance": [1.0, far] for one, far in ((1, 1.1), (2, 8.0), (3, 1.2))}


def test_distances_by_round_and_who_it_was_only_at_the_end(store: Store, session: SessionRecord) -> None:
    run = guarded(store, session, DISTANCES, {"attack": "scale"})
    card = shown(store, run)["distances"]
    assert [list(trace.y) for trace in figure(card).data] == [[1.0, 1.1], [1.0, 8.0], [1.0, 1.2]]
    assert "who do you think it is?" in part(card, "words")["lines"][0]["text"]
    assert not any("2" in line["text"] for line in part(card, "words")["lines"])
    store.finish(run.id, "completed", metrics=FIRST | {"attackers": [2], "rule": "mean"}, error=None, verdict=None)
    ended = shown(store, run)["distances"]
    assert [trace.name for trace in figure(ended).data] == ["honest", "poisoned", "honest"]
    assert part(ended, "words")["lines"][1]["text"] == "Institution 2."


def test_what_was_dropped_is_there_while_the_run_goes_on(store: Store, session: SessionRecord) -> None:
    dropped = [{"round": 1, "institution": 2}, {"round": 2, "institution": 2}]
    run = guarded(store, session, {"dropped": [1.0, 1.0]}, {}, dropped=dropped, skipped=[2])
    lines = [line["text"] for line in part(shown(store, run)["dropped"], "words")["lines"]]
    assert lines[1:] == ["Institution 2: rounds 1 and 2.", "In 1 round too few were left to go on with."]


def test_epsilon_by_round_with_what_it_does_not_cover(store: Store, session: SessionRecord) -> None:
    params = {"privacy": "institutions", "noise": 1.5, "clip": 0.5, "delta": 1e-5}
    events = {"epsilon": [2.5, 4.0], "clipped": [0.9, 0.8]}
    card = shown(store, guarded(store, session, events, params))["epsilon"]
    assert list(figure(card).data[0].y) == [2.5, 4.0]
    values = {tile["label"]: tile["value"] for tile in part(card, "tiles")["tiles"]}
    assert values["epsilon so far"] == "4"
    assert values["updates clipped, last round"] == "80 %"
    assert (values["noise"], values["clip"], values["delta"]) == ("1.5 × clip", "0.5", "1·10⁻⁵")
    assert "have no noise" in card.parts[-1]["lines"][0]["text"]
