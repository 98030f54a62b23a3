"""A learning task: the images, labels and network of a federation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.engine.context import RankContext
from workshop.engine.training.step import PerExample

Labels = NDArray[Any]  # int32 [n], or float32 [n, height, width, 1] where a label is a mask


@dataclass(frozen=True)
class Silo:
    """An institution's images, float32 [n, height, width, channels], and their labels: `images` to learn from,
    `own_images` to validate with."""

    images: NDArray[np.float32]
    labels: Labels
    own_images: NDArray[np.float32]
    own_labels: Labels


See = Callable[[NDArray[np.float32], Labels], Mapping[str, NDArray[np.float32]]]
"""`(images, labels)` -> the outputs [n, ...] of each way's model; where institutions have models of their own, of the
first one's."""


@dataclass(frozen=True)
class Inspection:
    """Looks at the models' outputs: `keep(round, see, last)` is called on the aggregator's rank after every `every`-th
    round and after the last one, and returns metrics."""

    every: int
    keep: Callable[[int, See, bool], Mapping[str, Any]]


@dataclass(frozen=True)
class LearningTask:
    """`silos` has the images of the requested institutions. `about` describes every institution: the number of `images`
    that it learns from, the number for `validation`, and more. `score` gives each example a value from 0 to 1;
    `measure` is its name. `facts` are metrics that are known before the first round.
    """

    model: Any
    loss: PerExample
    score: PerExample
    measure: str
    silos: Mapping[int, Silo]
    held_out: tuple[NDArray[np.float32], Labels]
    about: Sequence[Mapping[str, Any]]
    facts: Mapping[str, Any] = field(default_factory=dict)
    notices: Sequence[str] = ()
    bytes_image: int = 0  # bytes of an image, if it were sent
    at_once: int = 512  # images that are tested together
    look: Inspection | None = None


Maker = Callable[[RankContext, Any, Sequence[int]], LearningTask]
"""`(ctx, params, institutions)` -> a run's task, on a rank that needs the images of these institutions. Collective."""
