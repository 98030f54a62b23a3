"""Exchanges over MPI's own calls, see `exchange`."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from workshop.core.errors import BadInput
from workshop.engine import message_counts
from workshop.engine.training.compression import Compression
from workshop.engine.training.exchange import BucketTransfer, Exchange, Update, buckets, packed, size, unpacked

PAUSE = 50e-6  # seconds between two looks at a transfer while the rank still computes


class MPIExchange(Exchange):
    """One all-reduce of mpi4py for all tensors of a type, packed into one buffer. With a `compression`, the buffer
    travels in fewer bytes."""

    name = "mpi"
    largest: int | None = None  # bytes of a bucket

    def __init__(self, comm: Any, compression: Compression | None = None) -> None:
        super().__init__(comm)
        self.compression = compression
        self._buckets: list[list[int]] = []

    def average(self, gradients: list[Any]) -> list[Any]:
        if self.comm.size == 1:
            return gradients
        self._divide(gradients)
        return self._outside(self._average, gradients)

    def _divide(self, gradients: Sequence[Any]) -> None:
        self._count(gradients, 0)
        self._buckets = buckets(gradients, self.largest)
        self.messages = len(self._buckets)
        self.bytes = sum(self._bytes([gradients[number] for number in bucket]) for bucket in self._buckets)

    def _bytes(self, tensors: Sequence[Any]) -> int:
        """The bytes of a bucket on its way."""
        if self.compression is None or not tensors[0].dtype.is_floating:
            return sum(map(size, tensors))
        return self.compression.bytes(sum(int(np.prod(tensor.shape)) for tensor in tensors))

    def _average(self, *tensors: NDArray[Any]) -> list[NDArray[Any]]:
        averaged: list[Any] = [None] * len(tensors)
        for key, bucket in enumerate(self._buckets):
            chosen = [tensors[number] for number in bucket]
            means = unpacked(self._mean(packed(chosen), key), chosen)
            for number, mean in zip(bucket, means, strict=True):
                averaged[number] = mean
        return averaged

    def _mean(self, buffer: NDArray[Any], key: int) -> NDArray[Any]:
        """The mean over all ranks of the bucket `key`; may change `buffer`."""
        return self._mean_over(self.comm, buffer, key)

    def _mean_over(self, comm: Any, buffer: NDArray[Any], key: int) -> NDArray[Any]:
        if self.compression is not None and np.issubdtype(buffer.dtype, np.floating):
            return self.compression.average(comm, buffer, key)
        comm.Allreduce(MPI.IN_PLACE, buffer, op=MPI.SUM)
        buffer /= comm.size
        return buffer


class PerTensorExchange(MPIExchange):
    """A separate all-reduce for every tensor, the naive way: the model's variables each cost a latency."""

    name = "mpi-per-tensor"
    largest = 0


class HierarchicalExchange(MPIExchange):
    """The ranks of a host add up their gradients; one rank of each host then exchanges the sums with the other hosts
    and hands the mean to its neighbours. Compression is for the way between hosts."""

    name = "hierarchical"

    def __init__(self, comm: Any, compression: Compression | None = None) -> None:
        super().__init__(comm, compression)
        hosts = comm.allgather(socket.gethostname())
        self._host = comm.Split(hosts.index(hosts[comm.rank]), comm.rank)
        self._leaders = comm.Split(0 if self._host.rank == 0 else MPI.UNDEFINED, comm.rank)
        self.hosts = len(set(hosts))

    def _divide(self, gradients: Sequence[Any]) -> None:
        super()._divide(gradients)
        neighbours, others = self._host.size > 1, self._host.rank == 0 and self.hosts > 1
        self.bytes = self.gradient_bytes * neighbours + self.bytes * others
        self.messages *= neighbours + others

    def _mean(self, buffer: NDArray[Any], key: int) -> NDArray[Any]:
        leads = self._host.rank == 0
        self._host.Reduce(MPI.IN_PLACE if leads else buffer, buffer if leads else None, op=MPI.SUM, root=0)
        if leads:
            buffer *= self.hosts / self.comm.size  # so that the mean over hosts is the mean over ranks
            buffer = self._mean_over(self._leaders, buffer, key)
        self._host.Bcast(buffer, root=0)
        return buffer

    def close(self) -> None:
        for comm in (self._host, self._leaders):
            if comm != MPI.COMM_NULL:
                message_counts.free(comm)


class OverlappedExchange(MPIExchange):
    """Buckets of gradients leave while the backward pass goes on, last layers first (Li et al., PyTorch Distributed,
    VLDB 2020). A thread moves them, in the same order on every rank."""

    name = "mpi-overlap"

    def __init__(self, comm: Any, compression: Compression | None = None, largest: int = 1_000_000) -> None:
        super().__init__(comm, compression)
        if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
            raise BadInput("The exchange mpi-overlap needs an MPI for several threads, this one is not; take mpi.")
        self.largest = largest
        self.recording = False
        self._patient = PatientCommunicator(comm)
        self._ready: SimpleQueue[tuple[int, NDArray[Any]] | None] = SimpleQueue()
        self._done: SimpleQueue[tuple[int, NDArray[Any] | Exception]] = SimpleQueue()
        self._thread: Thread | None = None

    def _start(self, gradients: list[Any]) -> list[Any]:
        if self.comm.size == 1:
            return []
        self._divide(gradients)
        if self._thread is None:
            self._thread = Thread(target=self._move, name="exchange", daemon=True)
            self._thread.start()
        # Calls from inside a graph keep their order, so that buckets leave in the same order on every rank.
        return [
            self.tf.numpy_function(partial(self._leave, key), [gradients[number] for number in bucket], self.tf.int64)
            for key, bucket in enumerate(self._buckets)
        ]

    def average(self, gradients: list[Any]) -> list[Any]:
        return gradients if self.comm.size == 1 else self._outside(self._arrive, gradients)

    def _leave(self, key: int, *tensors: NDArray[Any]) -> np.int64:
        self._ready.put((key, packed(tensors)))
        return np.int64(key)

    def _arrive(self, *tensors: NDArray[Any]) -> list[NDArray[Any]]:
        """Wait for all buckets of the step."""
        averaged: list[Any] = [None] * len(tensors)
        self._patient.hurries = True
        for _ in self._buckets:
            key, mean = self._done.get()
            if isinstance(mean, Exception):
                raise mean
            bucket = self._buckets[key]
            for number, part in zip(bucket, unpacked(mean, [tensors[number] for number in bucket]), strict=True):
                averaged[number] = part
        self._patient.hurries = False
        return averaged

    def _move(self) -> None:
        """Exchange one bucket after the other until None comes."""
        while (bucket := self._ready.get()) is not None:
            key, buffer = bucket
            began = time.time()
            try:
                self._done.put((key, self._mean(buffer, key)))
            except Exception as error:
                self._done.put((key, error))
            if self.recording:
                self.transfers.append(BucketTransfer(began, time.time()))

    def _mean(self, buffer: NDArray[Any], key: int) -> NDArray[Any]:
        return self._mean_over(self._patient, buffer, key)

    def record(self) -> None:
        self.recording = True

    def stop_recording(self) -> None:
        self.recording = False

    def close(self) -> None:
        if self._thread is not None:
            self._ready.put(None)
            self._thread.join()
            self._thread = None


class PatientCommunicator:
    """A communicator whose collectives leave the core to the computing rank: between two looks at a transfer they
    sleep, until the rank `hurries` because it has nothing else to do."""

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self.size = comm.size
        self.hurries = False

    def Allreduce(self, in_place: Any, buffer: NDArray[Any], op: Any) -> None:
        """The sum over all ranks, in place. Each rank sums up its part of the buffer and sends it to all. Open MPI's
        Iallreduce on two ranks reduces and then broadcasts, so that twice as many bytes follow each other."""
        parts = np.zeros((self.size, -(-buffer.size // self.size)), buffer.dtype)
        parts.reshape(-1)[: buffer.size] = buffer
        received = np.empty_like(parts)
        self.Alltoall(parts, received)
        self.Allgather(received.sum(axis=0, dtype=buffer.dtype), parts)
        buffer[:] = parts.reshape(-1)[: buffer.size]

    def Alltoall(self, sent: Any, received: Any) -> None:
        self._wait(self.comm.Ialltoall(sent, received))

    def Allgather(self, sent: Any, received: Any) -> None:
        self._wait(self.comm.Iallgather(sent, received))

    def _wait(self, request: Any) -> None:
        while not request.Test():
            time.sleep(0 if self.hurries else PAUSE)


class ParameterServer(Exchange):
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
