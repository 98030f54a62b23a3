"""What institutions learn: all that a federation has to know of images, labels and the network."""

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
    """An institution's images, float32 [n, height, width, channels], to learn from and to validate with, and their
    labels."""

    images: NDArray[np.float32]
    labels: Labels
    own_images: NDArray[np.float32]
    own_labels: Labels


See = Callable[[NDArray[np.float32], Labels], Mapping[str, NDArray[np.float32]]]
"""`(images, labels)`: what the model of each way makes of them, [n, ...]; where institutions have models of their own,
the first one's."""


@dataclass(frozen=True)
class Inspection:
    """On the aggregator's rank `keep(round, see, last)` looks at what models make of images after every `every`-th
    round and after the last one, and returns metrics."""

    every: int
    keep: Callable[[int, See, bool], Mapping[str, Any]]


@dataclass(frozen=True)
class LearningTask:
    """`silos` holds the institutions that were asked for; `about` says of every one, by name, how many `images` it
    learns from, how many are for `validation`, and what else there is to know. `score` gives each example a value from
    0 to 1, which people know by the word in `measure`. `known` is what a run tells before its first round.
    """

    model: Any
    loss: PerExample
    score: PerExample
    measure: str
    silos: Mapping[int, Silo]
    held_out: tuple[NDArray[np.float32], Labels]
    about: Sequence[Mapping[str, Any]]
    known: Mapping[str, Any] = field(default_factory=dict)
    notices: Sequence[str] = ()
    bytes_image: int = 0  # that an image would take where it was sent
    at_once: int = 512  # images that are tested together
    look: Inspection | None = None


Maker = Callable[[RankContext, Any, Sequence[int]], LearningTask]
"""`(ctx, params, kept)`: makes a run's task on a rank that needs the images of the institutions `kept`. Collective."""
