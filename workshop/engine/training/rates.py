"""The learning rate of data-parallel training."""

from __future__ import annotations

import math
from typing import Literal

Scale = Literal["none", "linear", "sqrt"]


def scaled(rate: float, size: int, scale: Scale) -> float:
    """The learning rate for a batch that is `size` times as large as the one that `rate` is for.

    Linear: Goyal et al., Accurate, large minibatch SGD, arXiv:1706.02677. Square root: Krizhevsky, One weird trick for
    parallelizing convolutional neural networks, arXiv:1404.5997.
    """
    return rate * {"none": 1.0, "linear": float(size), "sqrt": math.sqrt(size)}[scale]


def warmed_up(rate: float, full: float, epochs: float, passed: float) -> float:
    """The rate after `passed` epochs, growing evenly from `rate` to `full` over the first `epochs` (Goyal et al.)."""
    if passed >= epochs:
        return full
    return rate + (full - rate) * passed / epochs


def cooled(rate: float, begin: float, passed: float) -> float:
    """The rate after the share `passed` of a training, 0 to 1: the full one up to the share `begin`, below 1, then
    falling evenly, to 0 at the end."""
    return rate * min((1 - passed) / (1 - begin), 1.0)
