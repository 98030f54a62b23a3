"""What a verdict recommends, as settings of another run."""

from __future__ import annotations

import pytest

from tests.report.analysis import cases
from tests.web import seed
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.report.actions import actions, run_like, without_options
from workshop.report.panels.outcome import verdict as verdict_cards
from workshop.report.snapshot import Snapshot
from workshop.store.records import RunRecord
from workshop.store.store import Store


def advised(following: str, name: str = "mnist", **params: object) -> RunRecord:
    return cases.run(
        workload=name,
        params=workload(name).check(params).model_dump(mode="json"),
        placement=Placement(ranks=2).as_json(),
        verdict={"verdict": "So it is.", "why": "Because.", "next": following},
    )


@pytest.mark.parametrize(
    "following, placement, params, expected",
    [
        ("Try 1 rank (--ranks 1), and compare.", {"ranks": 1}, {}, "1 rank"),
        (
            "Bind (--map-by core --bind-to core).",
            {"map_by": "core", "bind_to": "core"},
            {},
            "map by core and bind to core",
        ),
        ("Turn it on (--broadcast yes).", {}, {"broadcast": True}, "broadcast on"),
        ("Let rank 0 alone write (--checkpoint rank0).", {}, {}, None),  # it does so already
        ("Use fewer threads (--threads).", {}, {}, None),
        ("Go on (--resume 3), or (--nonsense 1), or (--batch 0).", {}, {}, None),
    ],
)
def test_options_are_settings(following: str, placement: dict, params: dict, expected: str | None) -> None:
    found = actions(advised(following, broadcast=False))
    assert [action.words for action in found] == ([expected] if expected else [])
    assert [(action.placement, action.params) for action in found] == ([(placement, params)] if expected else [])


def test_pages_have_no_options() -> None:
    assert without_options("Try 1 rank (--ranks 1) or bind (--bind-to core).") == "Try 1 rank or bind."


def test_a_verdict_has_buttons(store: Store) -> None:
    session = seed.session(store)
    params = workload("kmeans").check({}).model_dump(mode="json")

    def ran(ranks: int) -> RunRecord:
        run = store.submit(session.id, "kmeans", params, Placement(ranks=ranks).as_json())
        store.take_next(session.id)
        said = {
            "verdict": "Well balanced.",
            "why": "Equal.",
            "next": "Compare with 1 rank (--ranks 1): how close is it?",
        }
        store.finish(run.id, "completed", verdict=said)
        return store.run(run.id)

    def button(run: RunRecord) -> dict[str, object]:
        *texts, card = verdict_cards(Snapshot(store, run))
        assert "--ranks" not in str(texts)
        assert card.parts[0]["links"][-1]["url"] == "labs?lab=kmeans"
        return card.parts[0]["links"][0]

    two = ran(2)
    assert (button(two)["text"], button(two)["url"]) == ("Set up a run with 1 rank", f"run?run={two.id}&change=1")
    one = ran(1)
    assert run_like(store, two, actions(two)[0]) == one.id
    assert button(two)["url"] == f"history?compare={two.id},{one.id}"
