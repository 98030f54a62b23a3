"""Both sides of an attack, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from mpi4py import MPI

from workshop.engine.context import Memory, RankContext
from workshop.extension import no_artifacts
from workshop.workloads.inversion import WORKLOAD, InversionParams
from workshop.workloads.inversion.attack import AttackInput
from workshop.workloads.inversion.run import Private, update_of
from workshop.workloads.mnist.data import images
from workshop.workloads.mnist.data.images import Images
from workshop.workloads.mnist.heldout import as_inputs


@cache
def digits() -> Images:
    return images.read(images.find("digits"))


def own(*positions: int) -> Private:
    """Images of the digits by their positions."""
    chosen = np.array(positions)
    found = digits()
    return Private(as_inputs(found.train_images[chosen]), found.train_labels[chosen].astype(np.int32), chosen)


def seen(true: Private) -> AttackInput:
    """What an aggregator sees of some images."""
    return update_of(InversionParams(images=len(true.labels)), true)


def run(values: Mapping[str, Any], sink: Memory | None = None, comm: Any = MPI.COMM_SELF) -> tuple[Any, Memory]:
    """The workload in a world of one, or of a communicator's ranks."""
    sink = sink or Memory()
    params = WORKLOAD.check({"data": "digits"} | dict(values))
    assert isinstance(params, InversionParams)
    ctx = RankContext(comm, sink, WORKLOAD.inputs(params, no_artifacts))
    WORKLOAD.fits(params, ctx.inputs, comm.size)
    return WORKLOAD.load()(ctx, params), sink
