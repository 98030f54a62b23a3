"""Reports on data-parallel training, for every workload that trains with `workshop.engine.training`.

`rules.yaml` says what such a run means, with the faults of its recipe, and `panels` has its panels. `facts`, `waits`
and `time_use` find something in a run's metrics, `timeline` draws a figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict


class TrainingMetrics(TypedDict, total=False):
    """Metrics of a data-parallel training run that rules and panels of this package read.
    `exchange` and `updates` make a run a training run; without another metric, the sentence that needs it is left out.
    `phases` has seconds of each rank by phase, `last` in how many steps each rank came last, `late_by` by how many
    seconds then."""

    exchange: str  # how gradients were exchanged; "none" where they weren't
    updates: int
    epochs: int
    loss: float
    first_loss: float  # of the first step, and the highest one of a step
    highest_loss: float
    diverged: bool
    learning_rate: float  # of all ranks together
    train_images: int
    held_out_images: int
    held_out_accuracy: float  # from 0 to 1
    target: float  # accuracy, from 0 to 1
    time_to_target: float | None  # s
    images_per_second: float
    images_per_second_ranks: Sequence[float]
    measured_steps: int
    messages_per_step: int
    bytes_per_step: int
    mpi_seconds: float | None  # for one exchange of the same gradients with mpi4py, measured after Horovod's
    spread_before: float  # largest difference of a weight from its mean over the ranks, before the first step
    spread: float  # the same after the last step
    weights: Sequence[str]  # a digest of each rank's weights
    shards: Sequence[int]  # images of each rank
    seconds: Mapping[str, float]  # "train", "evaluate", "prepare"
    phases: Mapping[str, Sequence[float]]  # "input", "compute", "communicate", "wait"
    last: Sequence[int]
    late_by: Sequence[float]
