"""A calibration from a training run: its ranks told the phases of each step, and its metrics have the exchanged bytes.

Such a run measures one batch size and one exchange. So compute is assumed to grow with the batch, and nine tenths of
the exchange to grow with the bytes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workshop.core.errors import BadInput
from workshop.store.records import RunRecord
from workshop.store.store import Store
from workshop.workloads.scale import NUMBER, WORKLOAD, StepParams
from workshop.workloads.scale.step import Calibration, StepMeasurement

PHASES = ("input", "compute", "communicate", "wait")
MOST_EVENTS = 20_000
FEWEST_STEPS = 5
WARM_UP = 0.1  # share of the steps that don't count


def measurement(store: Store, run: RunRecord) -> StepMeasurement:
    """The calibration of a run: one of `training-step`, or a data-parallel training run. Raises BadInput for runs that
    measure none."""
    metrics = run.metrics or {}
    if run.workload == WORKLOAD.name or "exchange" not in metrics:
        return StepMeasurement.of_run(run.as_json(), f"Run {run.id}")
    ranks, size, rate = run.placement.get("ranks", 1), metrics.get("bytes_per_step"), metrics.get("images_per_second")
    if ranks < 2 or metrics["exchange"] == "none" or not size or not rate:
        raise BadInput(f"Run {run.id} exchanged nothing between its steps; calibrate by a training on several ranks.")
    phases = _phases(store, run.id, ranks)
    step = float(phases.sum(axis=0).mean())
    exchange = float(phases[2].min(axis=0).mean())  # the rank that came last waited for nobody
    servers, messages = metrics["exchange"] == "parameter-server", int(metrics.get("messages_per_step") or 1)
    rounds, share = (2, ranks - 1) if servers else (2 * (ranks - 1), 1 / ranks)
    batch = max(round(rate * step / ranks), 1)
    hosts = len(run.placement.get("hosts") or ()) or 1
    place = "between" if hosts > 1 else "inside"
    calibration = Calibration(
        hosts=hosts,
        ranks=ranks,
        per_host=ranks // hosts if hosts > 1 and ranks % hosts == 0 else 0,
        batch=batch,
        compute={batch: phases[1].tolist()},
        input=phases[0].tolist(),
        messages={place: {max(round(size * share / messages), 1): [exchange / messages / rounds]}},
    )
    params = StepParams(
        batch=batch,
        parameters=max(round(size / NUMBER), 100),
        tensors=min(messages, 200),
        bucket=0 if messages > 1 else 1 << 30,
        algorithm="servers" if servers else "ring",
    )
    return StepMeasurement(params, calibration, step)


def _phases(store: Store, run_id: int, ranks: int) -> NDArray[np.float64]:
    """Seconds [phases, ranks, steps] of the steps behind the warm-up that all ranks told. Raises BadInput."""
    rows: dict[tuple[str, int], dict[int, float]] = {}
    for event in store.events(run_id, [f"time.{phase}" for phase in PHASES], limit=MOST_EVENTS):
        if event.step is not None:
            rows.setdefault((event.name.partition(".")[2], event.rank), {})[event.step] = event.value
    computed = [set(rows.get(("compute", rank), {})) for rank in range(ranks)]
    steps = sorted(set.intersection(*computed))
    steps = steps[int(np.ceil(WARM_UP * len(steps))) :]
    if len(steps) < FEWEST_STEPS:
        raise BadInput(f"Run {run_id} told the phases of {len(steps)} steps of all ranks; it takes {FEWEST_STEPS}.")
    seconds = [
        [[rows.get((phase, rank), {}).get(step, 0.0) for step in steps] for rank in range(ranks)] for phase in PHASES
    ]
    return np.maximum(np.array(seconds), 1e-9)
