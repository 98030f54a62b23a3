"""Three ways of learning with several seeds: which runs, and what can't be asked for. Pure.

Each run learns all three ways with a seed of its own: of its weights, of who has what, and of the order in which it is
read. So differences between the ways can be taken seed by seed, where each has had the same luck.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.extension import Workload
from workshop.store.records import Trial
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
