"""Three ways of learning with several seeds: which runs, what can't be asked for, and how a study is kept.

Each run learns all three ways with a seed of its own: of its weights, of who has what, and of the order in which it is
read. So differences between the ways can be taken seed by seed, where each has had the same luck.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workshop.core import topology
from workshop.core.errors import BadInput
from workshop.core.placement import Placement, default_for
from workshop.extension import Workload
from workshop.runtime import client
from workshop.store.records import SessionRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study.estimate import seconds_each
from workshop.study.grid.seeds import SEED
from workshop.study.trials import Cell, interleave

KIND = "ways"
SEEDS = 5  # fewer can't all agree by more than chance
MOST = 100
WAY, ALL = "way", "all"
# The workloads that learn in three ways, and the word for what each measures.
MEASURES = {"federated": "accuracy", "segmentation": "Dice"}
# What a study sets unless somebody else does. The workload deals digits out so unevenly that being alone shows; here
# come so many rounds that all three ways come to rest, and so few images that five seeds take a few minutes on two
# cores, also with all of MNIST at hand.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "federated": {"images": 1400, "rounds": 20},
    "segmentation": {},
}


@dataclass(frozen=True)
class WaysStudy:
    """What was asked for, checked: see `plan`."""

    workload: str
    seeds: int
    params: Mapping[str, Any]  # of the first run, whose seed is the first of all
    placement: Mapping[str, Any]
    cells: tuple[Cell, ...]  # one for each seed

    def description(self) -> dict[str, Any]:
        """What the store keeps; equal descriptions are the same study."""
        measure = MEASURES[self.workload]
        return {
            "seeds": self.seeds,
            "measure": measure,
            "rate": f"held_out_{measure.lower()}",
            "unit": f"held-out {measure}, federated",  # of the rate; the other ways have columns of their own
            "params": dict(self.params),
            "placement": dict(self.placement),
        }

    def trials(self) -> list[Trial]:
        return interleave(self.cells, 1)


def plan(workload: Workload, given: Mapping[str, Any], placement: Placement, seeds: int = SEEDS) -> WaysStudy:
    """A study from the workload's params that were `given`. Raises BadInput with one sentence."""
    if workload.name not in MEASURES:
        raise BadInput(f"{workload.name} doesn't learn in three ways; {' and '.join(MEASURES)} do.")
    if not 1 <= seeds <= MOST:
        raise BadInput(f"seeds is {seeds}: it should be 1 to {MOST}.")
    if given.get(WAY, ALL) != ALL:
        raise BadInput(f"way is {given[WAY]!r}, but this study sets all three side by side; leave it out.")
    settings = {**SETTINGS[workload.name], **given, WAY: ALL}
    base = workload.check(settings).model_dump(mode="json")
    where = placement.as_json()
    cells = []
    for seed in range(base[SEED], base[SEED] + seeds):
        params = workload.check({**base, SEED: seed}).model_dump(mode="json")
        cells.append(Cell(f"seed {seed}", params, where, {SEED: seed}))
    return WaysStudy(workload.name, seeds, base, where, tuple(cells))


def checked(
    store: Store,
    workload: Workload,
    given: Mapping[str, Any],
    seeds: int,
    session: SessionRecord | None,
    placement: Placement | None = None,
) -> WaysStudy:
    """A study for a session (None: a private one), on this placement, the session's own or this machine's. Raises
    BadInput for what can be known to be wrong."""
    if placement is None and not (session is not None and session.placement):
        placement = default_for(topology.allowed_cores(topology.machine()))
    where = client.placement_in(session, placement.as_json() if placement is not None else None)
    wanted = plan(workload, given, where, seeds)
    client.inputs_of(store, workload, workload.check(wanted.cells[0].params), where)
    return wanted


def begin(store: Store, wanted: WaysStudy, submitted_by: str = "") -> StudyRecord:
    """Keep a study of which nothing is run yet, so that a class can predict what will come out of it."""
    return store.create_study(KIND, wanted.workload, wanted.description(), wanted.trials(), submitted_by)


def expected(store: Store, wanted: WaysStudy) -> tuple[float, str]:
    """Seconds that all its seeds are likely to take, and in a few words from what that is known."""
    each, why = seconds_of_one(store, wanted.workload, wanted.params)
    return each * wanted.seeds, why


def seconds_of_one(store: Store, workload: str, params: Mapping[str, Any]) -> tuple[float, str]:
    """The same of one run: runs with other seeds take as long."""
    return seconds_each(store, workload, {name: value for name, value in params.items() if name != SEED})
