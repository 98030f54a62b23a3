"""How ranks exchange gradients and weights. Each way gives the mean of all ranks' gradients, and can be called from
inside a `tf.function` as well as outside; `exchanges.choose` picks one by name.

Gradients are means over a rank's own batch. Where batches differ in size, the loop weights them (see `loop`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workshop.engine.tensorflow import tensorflow

Update = Callable[[list[Any]], None]  # takes averaged gradients, changes the variables


class BucketTransfer(NamedTuple):
    """A bucket of gradients on its way, in seconds since the epoch."""

    begin: float
    end: float


class Exchange:
    """One rank's end of an exchange over a communicator. This one is `none`: every rank keeps its own gradients.

    `messages` and `bytes` count what this rank hands over in one step, `gradient_bytes` what its gradients are in
    memory; known once a step has been built.
    """

    name = "none"

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self.tf = tensorflow()
        self.messages = 0
        self.bytes = 0
        self.gradient_bytes = 0
        self.transfers: list[BucketTransfer] = []  # while it records, of an exchange that overlaps with computing
        self.phase: Callable[[str], Any] = lambda name: (
            lambda function: function
        )  # a decorator; a run has `RankContext.phase`

    def apply(self, gradients: Sequence[Any], variables: Sequence[Any], update: Update) -> tuple[Any, Any]:
        """Exchange gradients (one tensor for each variable, None where it has none) and have `update` change the
        variables. Returns two scalar tensors, float64: when the gradients were there and when they had been exchanged,
        in seconds since the epoch."""
        tf = self.tf
        values = [variable.value if hasattr(variable, "value") else variable for variable in variables]
        dense = [
            tf.zeros_like(value) if gradient is None else tf.convert_to_tensor(gradient)
            for gradient, value in zip(gradients, values, strict=True)
        ]
        started = self._start(dense)
        with tf.control_dependencies([*dense, *started]):
            computed_at = tf.timestamp()
        with tf.control_dependencies([computed_at]):
            return computed_at, self._apply(dense, variables, update)

    def _start(self, gradients: list[Any]) -> list[Any]:
        """Begin with work that needs some of the gradients only. Returns tensors that are ready once it has begun."""
        return []

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

    def record(self) -> None:
        """Begin to record `transfers`, where the exchange has any."""

    def stop_recording(self) -> None:
        """End the recording."""

    def artifacts(self) -> Mapping[str, str]:
        """The texts of a closed exchange by file name, on rank 0."""
        return {}

    def close(self) -> None:
        """End everything that the exchange has started; it can't be used afterwards."""

    def _count(self, gradients: Sequence[Any], messages: int) -> None:
        self.messages = messages
        self.gradient_bytes = sum(map(size, gradients))
        self.bytes = self.gradient_bytes if messages else 0

    def _outside(self, function: Callable[..., Any], tensors: list[Any]) -> list[Any]:
        """Call a function of arrays from inside a graph; it returns arrays of the same shapes and types.

        One call for all tensors: several could come in another order on another rank, and wait for ever.
        """
        function = self.phase("communicate")(function)
        results = self.tf.numpy_function(function, tensors, [tensor.dtype for tensor in tensors])
        return [self.tf.ensure_shape(result, tensor.shape) for result, tensor in zip(results, tensors, strict=True)]


def size(tensor: Any) -> int:
    """The bytes of a tensor."""
    return int(np.prod(tensor.shape)) * int(tensor.dtype.size)


def buckets(tensors: Sequence[Any], most: int | None = None) -> list[list[int]]:
    """The numbers of the tensors that travel together: of one type each, of at most so many bytes unless one tensor
    alone has more. The last tensors come first, since the backward pass ends with the gradients of the first layer.
    Without a limit there is one bucket for each type."""
    divided: list[list[int]] = []
    open_buckets: dict[Any, tuple[list[int], int]] = {}
    for number in reversed(range(len(tensors))):
        dtype, bytes_of_tensor = tensors[number].dtype, size(tensors[number])
        bucket, filled = open_buckets.get(dtype, ([], 0))
        if not bucket or (most is not None and filled + bytes_of_tensor > most):
            bucket, filled = [], 0
            divided.append(bucket)
        bucket.append(number)
        open_buckets[dtype] = bucket, filled + bytes_of_tensor
    return divided


def packed(tensors: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The values of some tensors of one type, one behind the other."""
    return np.concatenate([tensor.ravel() for tensor in tensors])


def unpacked(buffer: NDArray[Any], tensors: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """The parts of a buffer, in the shapes of the tensors that were packed into one like it."""
    ends = np.cumsum([tensor.size for tensor in tensors])
    return [part.reshape(tensor.shape) for part, tensor in zip(np.split(buffer, ends[:-1]), tensors, strict=True)]
