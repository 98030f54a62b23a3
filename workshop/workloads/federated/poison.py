"""What a poisoned institution does to everybody: its labels, and what it sends in place of its update."""

from __future__ import annotations

import dataclasses

import numpy as np

from workshop.engine.data.shards import order
from workshop.workloads.federated.aggregate import Vector
from workshop.workloads.federated.guarding import Guarding
from workshop.workloads.federated.params import Learning
from workshop.workloads.federated.task import Labels, Silo

POISONED = 71  # stream of a seed


def attackers(params: Learning) -> list[int]:
    """The institutions that are poisoned, drawn once for a run; none without an attack."""
    if not params.attacked:
        return []
    return sorted(order(params.institutions, [params.seed, POISONED])[: params.attackers].tolist())


def flipped(labels: Labels, classes: int) -> Labels:
    """Wrong labels of the same kind: class l becomes class `classes` - 1 - l (Fang et al. 2020, arXiv:1911.11815,
    section 4.1), and a mask its opposite."""
    if np.issubdtype(labels.dtype, np.integer):
        return (classes - 1 - labels).astype(labels.dtype)
    return (1 - labels).astype(labels.dtype)


def silo(own: Silo, classes: int) -> Silo:
    """An institution that learns from wrong labels; those that it validates with are right."""
    return dataclasses.replace(own, labels=flipped(own.labels, classes))


def update(own: Vector, params: Guarding) -> Vector:
    """What a poisoned institution sends in place of its own update."""
    if params.attack == "scale":
        return (params.boost * own.astype(np.float64)).astype(np.float32)
    if params.attack == "nan":
        return np.full_like(own, np.nan)
    return own
