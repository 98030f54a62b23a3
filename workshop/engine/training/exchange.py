"""How ranks exchange gradients and weights. Each way gives the mean of all ranks' gradients, and can be called from
inside a `tf.function` as well as outside; `choose` picks one by name.

Gradients are means over a rank's own batch. Where batches differ in size, the loop weights them (see `loop`).
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from workshop.core.errors import BadInput
from workshop.engine.context import library
from workshop.engine.tensorflow import tensorflow
from workshop.mpi import horovod

TIMELINE = "HOROVOD_TIMELINE"
SAMPLED = 64 << 20  # bytes that are exchanged to time an exchange, about
WAYS = ("horovod", "mpi", "mpi-per-tensor", "parameter-server", "none")
Update = Callable[[list[Any]], None]  # takes averaged gradients, changes the variables


class Exchange:
    """One rank's end of an exchange over a communicator. This one is `none`: every rank keeps its own gradients.

    `messages` and `bytes` count what this rank hands over in one step, known once a step has been built.
    """

    name = "none"

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self.tf = tensorflow()
        self.messages = 0
        self.bytes = 0
        # Called when a step's gradients are computed; returns when it ended, in seconds since the epoch.
        self.pause: Callable[[], float] | None = None
        self.phase: Callable[[str], Any] = lambda name: (
            lambda function: function
        )  # a decorator; a run has `RankContext.phase`

    def apply(self, gradients: Sequence[Any], variables: Sequence[Any], update: Update) -> Any:
        """Exchange gradients (one tensor for each variable, None where it has none) and have `update` change the
        variables. Returns a scalar tensor, float64: when the exchange was over, in seconds since the epoch."""
        tf = self.tf
        values = [variable.value if hasattr(variable, "value") else variable for variable in variables]
        dense = [
            tf.zeros_like(value) if gradient is None else tf.convert_to_tensor(gradient)
            for gradient, value in zip(gradients, values, strict=True)
        ]
        with tf.control_dependencies(dense):
            return self._apply(dense, variables, update)

    def _apply(self, gradients: list[Any], variables: Sequence[Any], update: Update) -> Any:
        tf, averaged = self.tf, self.average(gradients)
        with tf.control_dependencies(averaged):
            over = tf.timestamp()
        with tf.control_dependencies([over]):
            update([tf.identity(gradient) for gradient in averaged])
        return over

    def average(self, gradients: list[Any]) -> list[Any]:
        """The mean over all ranks of each of the tensors."""
        return gradients

    def broadcast(self, variables: Sequence[Any]) -> None:
        """Give all ranks rank 0's values of some variables."""
        for variable in variables:
            value = np.array(variable.numpy(), order="C")  # of its own, and of the same shape
            self.comm.Bcast(value, root=0)
            variable.assign(value)

    def mpi_seconds(self) -> float | None:
        """The seconds that the exchange `mpi` takes for the same gradients. None for any exchange but Horovod's, and
        where no step was built. Collective."""
        return None

    def record(self, file: Path) -> None:
        """Begin to write down what the exchange does, where it can; rank 0 writes, in the exchange's own format."""

    def stop_recording(self) -> None:
        """End that. The file is complete when the exchange is closed."""

    def close(self) -> None:
        """End what the exchange has started; it can't be used afterwards."""

    def _count(self, gradients: Sequence[Any], messages: int) -> None:
        self.messages = messages
        self.bytes = sum(int(np.prod(gradient.shape)) * gradient.dtype.size for gradient in gradients if messages)

    def _outside(self, function: Callable[..., list[NDArray[Any]]], tensors: list[Any]) -> list[Any]:
        """Call a function of arrays from inside a graph; it returns arrays of the same shapes and types.

        One call for all tensors: several could come in another order on another rank, and wait for ever.
        """
        function = self.phase("communicate")(function)
        results = self.tf.numpy_function(function, tensors, [tensor.dtype for tensor in tensors])
        return [self.tf.ensure_shape(result, tensor.shape) for result, tensor in zip(results, tensors, strict=True)]


class MPIExchange(Exchange):
    """One all-reduce of mpi4py for all tensors of a type, packed into one buffer."""

    name = "mpi"

    def average(self, gradients: list[Any]) -> list[Any]:
        if self.comm.size == 1:
            return gradients
        self._count(gradients, len({gradient.dtype for gradient in gradients}))
        return self._outside(self._average, gradients)

    def _average(self, *tensors: NDArray[Any]) -> list[NDArray[Any]]:
        averaged: list[Any] = [None] * len(tensors)
        for dtype in dict.fromkeys(tensor.dtype for tensor in tensors):
            chosen = [number for number, tensor in enumerate(tensors) if tensor.dtype == dtype]
            buffer = np.concatenate([tensors[number].ravel() for number in chosen])
            self._reduce(buffer)
            ends = np.cumsum([tensors[number].size for number in chosen])
            for number, part in zip(chosen, np.split(buffer, ends[:-1]), strict=True):
                averaged[number] = part.reshape(tensors[number].shape)
        return averaged

    def _reduce(self, buffer: NDArray[Any]) -> None:
        self.comm.Allreduce(MPI.IN_PLACE, buffer, op=MPI.SUM)
        buffer /= self.comm.size


class PerTensorExchange(MPIExchange):
    """An all-reduce of its own for every tensor, the naive way: as many latencies as the model has variables."""

    name = "mpi-per-tensor"

    def average(self, gradients: list[Any]) -> list[Any]:
        if self.comm.size == 1:
            return gradients
        self._count(gradients, len(gradients))
        return self._outside(self._average, gradients)

    def _average(self, *tensors: NDArray[Any]) -> list[NDArray[Any]]:
        averaged = [np.array(tensor) for tensor in tensors]
        for tensor in averaged:
            self._reduce(tensor)
        return averaged


class ParameterServer(MPIExchange):
    """Rank 0 holds the weights: it collects the gradients of all ranks one after the other, updates the weights, and
    sends them to each (Dean et al., Large scale distributed deep networks, NIPS 2012; here in step, not asynchronous).
    """

    name = "parameter-server"

    def _apply(self, gradients: list[Any], variables: Sequence[Any], update: Update) -> Any:
        tf = self.tf
        if self.comm.size == 1:
            return super()._apply(gradients, variables, update)
        averaged = self._outside(self._push, gradients)
        with tf.control_dependencies(averaged):
            if self.comm.rank == 0:
                update([tf.identity(gradient) for gradient in averaged])
            # Read behind the update: automatic control dependencies keep the order inside a tf.function.
            weights = self._outside(self._pull, [tf.convert_to_tensor(variable) for variable in variables])
        if self.comm.rank != 0:
            for variable, weight in zip(variables, weights, strict=True):
                variable.assign(weight)
        peers = self.comm.size - 1 if self.comm.rank == 0 else 1
        self._count(gradients, peers * len(gradients))
        self.bytes *= peers  # rank 0 sends weights to all others, each of which sends it gradients
        with tf.control_dependencies(weights):
            return tf.timestamp()

    def _push(self, *tensors: NDArray[Any]) -> list[NDArray[Any]]:
        if self.comm.rank != 0:
            for tensor in tensors:
                self.comm.Send(np.ascontiguousarray(tensor), dest=0)
            return list(tensors)
        total = [np.array(tensor) for tensor in tensors]
        for rank in range(1, self.comm.size):
            for tensor in total:
                received = np.empty_like(tensor)
                self.comm.Recv(received, source=rank)
                tensor += received
        for tensor in total:
            tensor /= self.comm.size
        return total

    def _pull(self, *weights: NDArray[Any]) -> list[NDArray[Any]]:
        fresh = [np.array(weight) for weight in weights]
        for weight in fresh:
            if self.comm.rank == 0:
                for rank in range(1, self.comm.size):
                    self.comm.Send(weight, dest=rank)
            else:
                self.comm.Recv(weight, source=0)
        return fresh


class HorovodExchange(Exchange):
    """Horovod's grouped all-reduce: negotiated, fused and executed by its background thread.

    Its stock wrapper of Keras optimizers reduces nothing under Keras 3; here its operations are called themselves.
    """

    name = "horovod"

    def __init__(self, comm: Any) -> None:
        super().__init__(comm)
        import horovod.tensorflow as hvd

        self.hvd = hvd
        self._before: dict[str, str] | None = None  # what is set again when recording ends
        self._gradients: list[Any] = []  # shapes and types, once a step was built
        hvd.init()
        if hvd.size() != comm.size:
            hvd.shutdown()
            raise BadInput(f"Horovod sees {hvd.size()} ranks, the run has {comm.size}; use the exchange mpi.")

    def average(self, gradients: list[Any]) -> list[Any]:
        self._count(gradients, 1 if self.comm.size > 1 else 0)
        self._gradients = [(gradient.shape, gradient.dtype) for gradient in gradients]
        # Ranks find each other's tensors by name; a rank with another batch's size runs another graph than its peers.
        named = [self.tf.identity(gradient, name=f"gradient_{number}") for number, gradient in enumerate(gradients)]
        averaged: list[Any] = self.hvd.grouped_allreduce(named, op=self.hvd.Average)
        return averaged

    def broadcast(self, variables: Sequence[Any]) -> None:
        self.hvd.broadcast_variables([variable.value for variable in variables], root_rank=0)

    def mpi_seconds(self) -> float | None:
        if self.comm.size == 1 or not self.bytes:
            return None
        exchange, tensors = MPIExchange(self.comm), [self.tf.zeros(*gradient) for gradient in self._gradients]
        average = self.tf.function(lambda: exchange.average(tensors))
        average()  # builds the graph
        seconds = []
        for _ in range(min(max(SAMPLED // self.bytes, 3), 30)):
            self.comm.Barrier()
            began = time.perf_counter()
            average()
            seconds.append(time.perf_counter() - began)
        return float(self.comm.allreduce(np.median(seconds), op=MPI.MAX))

    # The thread that writes the timeline spins from one `init` to the next `shutdown`, whether or not there is anything
    # to write, and takes most of rank 0's core. So Horovod knows of a timeline only while one is kept.

    def record(self, file: Path) -> None:
        self._before = {TIMELINE: os.environ[TIMELINE]} if TIMELINE in os.environ else {}
        self._restart({TIMELINE: str(file)})

    def stop_recording(self) -> None:
        if self._before is not None:
            before, self._before = self._before, None
            self._restart(before)

    def _restart(self, variables: Mapping[str, str]) -> None:
        """Initialise Horovod again, with or without a timeline. Collective."""
        self.hvd.shutdown()
        os.environ.pop(TIMELINE, None)
        os.environ.update(variables)
        self.hvd.init()

    def close(self) -> None:
        self.stop_recording()
        # Its background thread would go on looking for work a thousand times a second, between runs as well.
        self.hvd.shutdown()


def horovod_obstacle() -> str | None:
    """Why Horovod can't exchange gradients between these ranks, in half a sentence; None where it can."""
    ours = library()
    horovod_build = horovod.build()  # of this rank's own environment
    if horovod_build.state != "built":
        return horovod_build.obstacle
    if not ours.startswith("Open MPI"):
        return f"it is built with Open MPI, these ranks run under {ours}"
    with contextlib.suppress(Exception):  # whatever its library lacks when it is loaded
        tensorflow()
        import horovod.tensorflow as hvd

        if hvd.mpi_built():
            return None
    return "what is installed of it can't be loaded with this TensorFlow and Open MPI"


def choose(way: str, comm: Any) -> tuple[Exchange, str]:
    """The exchange of that name, or the best that there is for `auto`, and why it is this one. Collective.

    Raises BadInput where Horovod is asked for and can't be had.
    """
    ways = {kind.name: kind for kind in (HorovodExchange, MPIExchange, PerTensorExchange, ParameterServer, Exchange)}
    if way not in ("auto", "horovod"):
        return ways[way](comm), "as asked for"
    obstacles = comm.allgather(horovod_obstacle())
    reason = next((words for words in obstacles if words is not None), None)
    if reason is None:
        return HorovodExchange(comm), "as asked for" if way == "horovod" else "Horovod fits the ranks' MPI"
    if way == "horovod":
        raise BadInput(
            f"Horovod can't be used: {reason}; choose the exchange mpi (--exchange mpi), or {horovod.build().advice}."
        )
    return MPIExchange(comm), f"mpi in place of Horovod: {reason}"
