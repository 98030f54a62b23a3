"""Optimizers of data-parallel training: any Keras optimizer, made to work on the gradients of all ranks, and its
learning rate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from workshop.engine.training.exchange import Exchange  # which starts MPI


def distribute(optimizer: Any, exchange: Exchange) -> Any:
    """An optimizer of the same kind and settings that exchanges gradients before it applies them, also in `model.fit`.

    Horovod's own wrapper overrides a method that Keras 3 doesn't call; `apply` is the one that everything goes through.
    """
    kind = type(optimizer)

    class Distributed(kind):  # type: ignore[valid-type, misc]  # Keras has no types; which class it is shows here
        def apply(self, grads: Any, trainable_variables: Any = None) -> None:
            variables = self._trainable_variables if trainable_variables is None else list(trainable_variables)
            if not self.built:
                self.build(variables)
            exchange.apply(list(grads), variables, lambda averaged: kind.apply(self, averaged, variables))

    Distributed.__name__ = kind.__name__  # what it is called in a saved configuration
    return Distributed.from_config(optimizer.get_config())


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
