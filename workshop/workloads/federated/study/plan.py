"""Plans of three ways of learning with several seeds: their runs, their checks, and their description in the store.

Each run learns in all three ways with one seed: of the weights, of the partition, and of the order of the images. So
the ways can be compared seed by seed, where all have had the same luck.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from workshop.core import topology
from workshop.core.errors import BadInput
from workshop.core.placement import Placement, default_for
from workshop.extension import Params, Workload
from workshop.report.activity import SEED
from workshop.sessions import client
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.study.grid.plan import between
from workshop.study.kinds import StudyForm, StudyRequest
from workshop.study.trials import Cell, Plan

KIND = "ways"
SEEDS = 5  # with fewer seeds, even full agreement may be chance
MOST = 100
WAY, ALL = "way", "all"
# The workloads that learn in three ways, and the word for what each measures.
MEASURES = {"federated": "accuracy", "segmentation": "Dice"}
# The defaults of a study. The workload's own defaults deal digits so unevenly that learning alone is clearly worse.
# These add enough rounds for all three ways to converge, and so few images that five seeds take a few minutes on two
# cores, even where all of MNIST is available.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "federated": {"images": 1400, "rounds": 20},
    "segmentation": {},
}


def plan(workload: Workload, options: Mapping[str, Any], placement: Placement, seeds: int = SEEDS) -> Plan:
    """Return a study from the workload's params that were set (`options`). Raises BadInput."""
    if workload.name not in MEASURES:
        raise BadInput(f"{workload.name} doesn't learn in three ways; {' and '.join(MEASURES)} do.")
    between("seeds", seeds, 1, MOST)
    if options.get(WAY, ALL) != ALL:
        raise BadInput(f"way is {options[WAY]!r}, but this study sets all three side by side; leave it out.")
    settings = {**SETTINGS[workload.name], **options, WAY: ALL}
    base = workload.check(settings).model_dump(mode="json")
    where = placement.as_json()
    cells = []
    for seed in range(base[SEED], base[SEED] + seeds):
        params = workload.check({**base, SEED: seed}).model_dump(mode="json")
        cells.append(Cell(f"seed {seed}", params, where, {SEED: seed}))
    measure = MEASURES[workload.name]
    described = {
        "seeds": seeds,
        "measure": measure,
        "rate": f"held_out_{measure.lower()}",
        "unit": f"held-out {measure}, federated",  # unit of the rate; the other ways have their own columns
        "params": base,
        "placement": where,
    }
    return Plan(KIND, workload.name, described, tuple(cells))


def checked(
    store: Store,
    workload: Workload,
    options: Mapping[str, Any],
    seeds: int,
    session: SessionRecord | None,
    placement: Placement | None = None,
) -> Plan:
    """Return a study for a session (None: a private one). `placement` is by default the session's or this machine's.
    Raises BadInput for params, a placement or inputs that can't work."""
    if placement is None and not (session is not None and session.placement):
        placement = default_for(topology.allowed_cores(topology.machine()))
    where = client.placement_in(session, placement.as_json() if placement is not None else None)
    study = plan(workload, options, where, seeds)
    client.inputs_of(store, workload, workload.check(study.cells[0].params), where)
    return study


class WaysOptions(Params):
    """Settings of a study of three ways."""

    seeds: int = Field(SEEDS, ge=1, le=MOST, description="runs of all three ways, each with a seed of its own")


def _plan(form: StudyRequest) -> Plan:
    return checked(form.store, form.workload, form.params, form.options.seeds, form.session, form.placement)


FORM = StudyForm(
    "Three ways: pooled data, alone, federated",
    WaysOptions,
    _plan,
    takes=lambda workload: workload.name in MEASURES,
    start=lambda workload, options: SETTINGS[workload.name],
    hidden=lambda workload: (WAY,),
    placement=("ranks", "threads", "map_by", "cores_per_rank", "bind_to", "environment"),
)
