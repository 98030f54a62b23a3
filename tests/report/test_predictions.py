"""Predictions for runs: asked once, on the machine that the run had."""

from __future__ import annotations

from typing import Any

import pytest

from tests.report.analysis import cases
from tests.report.test_panels import part, shown, text
from workshop.core import machines, topology
from workshop.core.machines import MachineDescription
from workshop.core.placement import Placement
from workshop.mpi import mapper
from workshop.mpi.mapper import Prediction
from workshop.report.figures import theme
from workshop.report.panels import outcome
from workshop.report.panels.outcome import described
from workshop.store.records import SessionRecord
from workshop.store.store import Store


def run_on(store: Store, session: SessionRecord, rank_map: dict[str, Any], **placement: Any):
    """A run that ended, with this rank map."""
    given = {"mpi": "openmpi", "ranks": 2, "cores_per_rank": 1, **placement}
    run = store.submit(session.id, "kmeans", {}, given)
    store.take_next(session.id)
    store.set_run(run.id, rank_map=rank_map, machine=cases.machine(2))
    store.finish(run.id, "completed")
    return store.run(run.id)


@pytest.mark.real
def test_a_rank_that_ran_elsewhere_is_told_and_drawn(store: Store, session: SessionRecord) -> None:
    card = shown(store, run_on(store, session, cases.rank_map([0], [0])))["predicted"]
    assert "Rank 1 was meant for core 1, could run on core 0 together with rank 0." in text(card)
    drawn = part(card, "figure")["figure"]
    assert [s.line.color for s in drawn.layout.shapes if s.line.dash == "dash"] == [theme.rank_colour(1)]


def test_intel_mpi_has_a_prediction_by_its_rules(store: Store, session: SessionRecord) -> None:
    run = run_on(store, session, cases.rank_map([0], [0]), mpi="intelmpi")
    assert "Rank 1 was meant for core 1" in text(shown(store, run)["predicted"])
    cached = run_on(store, session, cases.rank_map([0], [1]), mpi="intelmpi", environment={"I_MPI_PIN_DOMAIN": "cache"})
    assert "No map" in text(shown(store, cached)["predicted"])


def test_equal_runs_are_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def ask(placement: Placement, machine: MachineDescription) -> Prediction:
        asked.append((placement.ranks, machine.count("core")))
        return Prediction(cases.rank_map([0], [1]))

    monkeypatch.setattr(mapper, "predict", ask)
    outcome._answer.cache_clear()
    for number in (1, 2, 3):
        assert outcome.prediction(cases.run(id=number)) == Prediction(cases.rank_map([0], [1]))
    assert asked == [(2, 2)]
    outcome._answer.cache_clear()


def test_a_machine_is_described_with_its_own_numbers() -> None:
    linux = cases.machine(8, packages=2, hardware_threads=2)
    found = described(linux)
    assert found.synthetic == "pack:2 [numa] l3:1 core:4 pu:2"
    assert found.machine == {**linux, "host": ""}
    grouped = machines.synthetic("2x8", numa=2, l3=4)
    assert described(grouped.as_hosts(["a", "b"])).synthetic == grouped.synthetic
    assert described(topology.machine()).real
