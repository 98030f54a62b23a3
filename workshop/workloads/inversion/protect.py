"""Protection of an institution's update before the aggregator sees it, and its cost for the aggregator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workshop.workloads.federated.communication.compression import EightBit, TopK
from workshop.workloads.federated.mathematics.privacy import clipped, stream
from workshop.workloads.federated.training.learner import Vector
from workshop.workloads.inversion import InversionParams

NOISE, ROUNDING = 92, 93  # streams of a seed


@dataclass(frozen=True)
class ProtectedUpdate:
    """The update that the aggregator sees, float32 [parameters], and the share of it in dB that comes from learning
    (None: all of it)."""

    update: Vector
    signal_to_noise: float | None = None


def protected(params: InversionParams, updates: Sequence[Vector], rank: int) -> ProtectedUpdate:
    """The protected update of one institution, or the sum of the updates of all institutions.

    The sum is that of a secure aggregation, whose masks cancel (Bonawitz et al. 2017, Practical secure aggregation for
    privacy-preserving machine learning, CCS), divided by the number of institutions, since all have as many images. The
    noise is an institution's own, as large as that which an aggregator adds to a whole sum.
    """
    first = updates[0]
    if params.protect == "sum":
        return ProtectedUpdate(np.asarray(np.mean(updates, axis=0, dtype=np.float64), np.float32))
    if params.protect == "clip-noise":
        clipped_update, _ = clipped(first, params.clip)
        noise = params.noise * params.clip * stream([params.seed, NOISE, rank]).standard_normal(len(clipped_update))
        sent = (clipped_update + noise).astype(np.float32)
        return ProtectedUpdate(sent, signal_to_noise(clipped_update, sent))
    if params.protect in ("topk", "8bit"):
        codec = TopK(len(first), params.keep) if params.protect == "topk" else EightBit(len(first))
        sent = codec.decode(codec.encode(first, np.random.RandomState([ROUNDING, params.seed, rank])))
        return ProtectedUpdate(sent, signal_to_noise(first, sent))
    return ProtectedUpdate(first)


def signal_to_noise(original: Vector, sent: Vector) -> float | None:
    """20 log10 (|u| / |sent - u|), in dB: 0 where the error is as long as the update, less where it is longer. None
    where there is no error, or no update."""
    length, error = (float(np.linalg.norm(vector.astype(np.float64))) for vector in (original, sent - original))
    return 20 * math.log10(length / error) if error > 0 and length > 0 else None
