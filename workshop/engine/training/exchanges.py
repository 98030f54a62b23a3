"""All exchanges by name."""

from __future__ import annotations

from typing import Any, NamedTuple

from workshop.core.errors import BadInput
from workshop.engine.tensorflow import tensorflow
from workshop.engine.training.compression import compression
from workshop.engine.training.exchange import Exchange
from workshop.engine.training.horovod_exchange import HorovodExchange, horovod_obstacle
from workshop.engine.training.mpi_exchanges import (
    HierarchicalExchange,
    MPIExchange,
    OverlappedExchange,
    ParameterServer,
    PerTensorExchange,
)

COMPRESSING = {kind.name: kind for kind in (MPIExchange, PerTensorExchange)}
PLAIN = {kind.name: kind for kind in (ParameterServer, Exchange)}
WAYS = ("horovod", "mpi", "mpi-overlap", "mpi-per-tensor", "hierarchical", "parameter-server", "none")
LATE = (
    "; TensorFlow has one inter-op thread, so that buckets leave behind the last gradient: set "
    "TF_NUM_INTEROP_THREADS=2 (--env)"
)


class ExchangeSettings(NamedTuple):
    """Settings of a run: the `way`, by its name or `auto`; the format of gradients on their way; the share of them that
    topk sends; the largest bucket in MB."""

    way: str = "auto"
    compression: str = "none"
    share: float = 0.01
    bucket: float = 1.0


def choose(settings: ExchangeSettings, comm: Any) -> tuple[Exchange, str]:
    """The exchange that a run asks for, `mpi` for `auto`, and why it is this one. Collective.

    Raises BadInput where Horovod is asked for and can't be had.
    """
    way, short = settings.way, settings.compression
    codec = compression(short, settings.share)
    if way == OverlappedExchange.name:
        # One thread runs all operations of a step in their order, and handing over a bucket is the last of them.
        late = tensorflow().config.threading.get_inter_op_parallelism_threads() == 1 and comm.size > 1
        return OverlappedExchange(comm, codec, round(settings.bucket * 1e6)), f"as asked for{LATE if late else ''}"
    if way == HierarchicalExchange.name:
        exchange = HierarchicalExchange(comm, codec)
        alone = "" if exchange.hosts > 1 else "; all ranks are on one host, so it saves nothing"
        return exchange, f"as asked for{alone}"
    if way in COMPRESSING:
        return COMPRESSING[way](comm, codec), "as asked for"
    if way in PLAIN:
        return PLAIN[way](comm), "as asked for"
    if way == "auto":
        return MPIExchange(comm, codec), "the usual one"
    obstacles = comm.allgather(horovod_obstacle())
    reason = next((words for words in obstacles if words is not None), None)
    if reason is not None:
        raise BadInput(
            f"Horovod can't be used: {reason}; choose the exchange mpi (--exchange mpi), or build it "
            "(workshop horovod install)."
        )
    return HorovodExchange(comm, short), "as asked for"
