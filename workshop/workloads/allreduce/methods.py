"""The other ways to add up all ranks' arrays, and how each is made ready and called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from workshop.workloads.allreduce.ring import ring

# Takes an array of this rank's and makes ready to add it up over all ranks; calling what it gives does so, as often as
# it is called, and returns the sum. Making ready is not measured.
Method = Callable[[NDArray[Any]], Callable[[], NDArray[Any]]]


def mpi_allreduce(comm: Any, values: NDArray[Any]) -> None:
    """Replace `values` by the sum over all ranks: the MPI chooses how, by the size and by what connects the ranks."""
    comm.Allreduce(MPI.IN_PLACE, values, op=MPI.SUM)


def parameter_server(comm: Any, values: NDArray[Any]) -> None:
    """Replace `values` by the sum over all ranks: rank 0 collects all arrays, adds them up and sends the sum to each.

    All data goes through one rank: 2 (n - 1) arrays, where the ring moves fewer than two past each.
    """
    rank, ranks = comm.Get_rank(), comm.Get_size()
    if rank != 0:
        comm.Send(values, dest=0)
        comm.Recv(values, source=0)
        return
    arrived = np.empty_like(values)
    for worker in range(1, ranks):
        comm.Recv(arrived, source=worker)
        values += arrived
    for worker in range(1, ranks):
        comm.Send(values, dest=worker)


IN_PLACE = {"ring": ring, "own": mpi_allreduce, "parameter-server": parameter_server}


@contextmanager
def method(name: str, comm: Any) -> Iterator[Method]:
    """A method for as long as the block lasts. Collective. Raises BadInput where Horovod can't be had."""
    if name == "horovod":
        with _horovod(comm) as prepared:
            yield prepared
        return
    add_up = IN_PLACE[name]

    def prepare(values: NDArray[Any]) -> Callable[[], NDArray[Any]]:
        def call() -> NDArray[Any]:
            add_up(comm, values)
            return values

        return call

    yield prepare


@contextmanager
def _horovod(comm: Any) -> Iterator[Method]:
    """Horovod's all-reduce of a tensor, negotiated with all ranks in each of its cycles of a millisecond.

    It lives as long as it is measured: its background thread looks for work a thousand times a second.
    """
    from workshop.engine.training.horovod_exchange import HorovodExchange

    exchange = HorovodExchange(comm)
    try:

        def prepare(values: NDArray[Any]) -> Callable[[], NDArray[Any]]:
            tensor = exchange.tf.constant(values)
            name = f"values_{values.nbytes}"
            return lambda: exchange.hvd.allreduce(tensor, op=exchange.hvd.Sum, name=name).numpy()

        yield prepare
    finally:
        exchange.close()


def obstacle(name: str, comm: Any) -> str | None:
    """Why a method can't be had on these ranks, in half a sentence; None where it can. Collective."""
    if name != "horovod":
        return None
    from workshop.engine.training.horovod_exchange import horovod_obstacle

    return next((words for words in comm.allgather(horovod_obstacle()) if words is not None), None)
