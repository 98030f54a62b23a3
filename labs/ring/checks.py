"""Checks of lab 9: the ring all-reduce, the times of three algorithms, and the buckets."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from workshop.course.exercise_checks import Hint, exercise
from workshop.course.trials import call, called, confirmed, rehearsed, worlds

CASES = ((3, 12), (2, 6), (3, 7), (4, 10), (4, 3))  # ranks, and numbers of the array; with two, both neighbours are one
DIGIT = 8  # each rank gives a power of it, so that a sum says how often each rank is in it
EVEN = "Every rank takes part in every step, so all ranks call Sendrecv equally often: no condition on the rank."


# Exercise 1.


class _Neighbours:
    """A communicator of a rehearsal that has Sendrecv alone. It notes the bytes of each message in `messages`, and in
    `halfway` a copy of `values` before the message that begins the all-gather."""

    def __init__(
        self, comm: Any, values: np.ndarray, messages: list[list[int]], halfway: dict[int, np.ndarray]
    ) -> None:
        self._comm, self._values, self._messages, self._halfway = comm, values, messages, halfway
        self.rank, self.size = comm.rank, comm.size

    def Get_rank(self) -> int:
        return self.rank

    def Get_size(self) -> int:
        return self.size

    def __getattr__(self, name: str) -> Any:
        if name == "sendrecv":
            raise Hint("`sendrecv` in small letters packs objects and returns new ones. Take `Sendrecv` with arrays.")
        raise Hint(f"You call comm.{name}, and the exercise is to do without it. `comm.Sendrecv` is enough.")

    def Sendrecv(  # mpi4py's own names
        self, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, source: int = -1, recvtag: int = -1
    ) -> None:
        sent, received = _buffer(sendbuf, "sendbuf"), _buffer(recvbuf, "recvbuf")
        if np.may_share_memory(sent, received):
            raise Hint("The sent and the received chunk share memory, which MPI forbids. They should be two chunks.")
        for name, number in (("dest", dest), ("source", source)):
            if not (0 <= number < self.size or (name == "source" and number == -1)):
                raise Hint(f"On {self.size} ranks, rank {self.rank} has {name}={number}. Take the remainder: % size.")
        if len(self._messages[self.rank]) == self.size - 1:
            self._halfway[self.rank] = self._values.copy()
        self._messages[self.rank].append(sent.nbytes)
        message = (dest, source, sent.copy(), received.size, received.dtype)
        arrived = self._comm._meet("Sendrecv", message, _delivered)
        received[: arrived.size] = arrived


def _buffer(buffer: Any, name: str) -> np.ndarray:
    array = buffer[0] if isinstance(buffer, list | tuple) and buffer else buffer
    if not isinstance(array, np.ndarray):
        raise Hint(f"Sendrecv takes NumPy arrays, and {name} is {type(array).__name__}.")
    if not array.flags.c_contiguous:
        raise Hint(f"The array of {name} is not contiguous. Cut chunks as slices without a step.")
    return array


def _delivered(messages: list[Any]) -> list[np.ndarray]:
    """What arrives on each rank. Raises Hint where a message and a receive don't fit."""
    arrived = []
    for rank, (_, source, _, room, kind) in enumerate(messages):
        senders = [number for number, message in enumerate(messages) if message[0] == rank]
        sender = senders[0] if source == -1 and senders else source
        if sender not in senders:
            raise Hint(
                f"Rank {rank} waits for ever for a message of rank {sender}, which sends to rank "
                f"{messages[sender][0]}. Send to the right, (rank + 1) % size, and receive from the left, "
                "(rank - 1) % size."
            )
        chunk = messages[sender][2].reshape(-1)
        if chunk.dtype != kind:
            raise Hint(
                f"Rank {rank} receives {chunk.dtype} into an array of {kind}. Make the buffer with the dtype of values."
            )
        if chunk.size > room:
            raise Hint(
                f"A message of {chunk.size} numbers comes to rank {rank}, whose buffer has {room}. The left neighbour "
                "sends the chunk with the number one lower than yours, and chunks may differ in length."
            )
        arrived.append(chunk)
    return arrived


def _inside(function: Any, comm: _Neighbours) -> Any:
    """The function with the names `comm`, `rank` and `size` of the rehearsal, as they are on real ranks."""
    if not isinstance(function, FunctionType):
        return function
    names = {**function.__globals__, "comm": comm, "rank": comm.rank, "size": comm.size}
    bound = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    bound.__kwdefaults__ = function.__kwdefaults__
    return bound


@exercise(
    "ring_allreduce",
    ranks=True,
    hint=(
        "Reduce-scatter, in step s: send chunk (rank - s) % size, receive chunk (rank - s - 1) % size into a buffer "
        "and add it. All-gather, in step s: send chunk (rank + 1 - s) % size, and receive chunk (rank - s) % size "
        "in place."
    ),
    reason=(
        "In the reduce-scatter, the chunk that arrives in one step is sent in the next, with one more rank's numbers. "
        "Afterwards rank r has the sums of chunk r + 1. The all-gather hands these sums round without adding."
    ),
)
def ring_allreduce(comm: Any, given: Callable[..., Any]) -> None:
    extra = [(size, 2 * size + 1) for size in worlds(comm) if size > max(ranks for ranks, _ in CASES)]
    for size, count in (*CASES, *extra):
        _rehearse(given, size, count)
    values = _numbers(comm.rank, 11)
    total = np.sum([_numbers(rank, 11) for rank in range(comm.size)], axis=0)
    confirmed(comm, given, [values], lambda _: np.allclose(values, total, rtol=1e-4, atol=1e-5))


def _numbers(rank: int, count: int) -> np.ndarray:
    return np.random.default_rng([9, rank]).standard_normal(count).astype(np.float32)


def _rehearse(given: Callable[..., Any], size: int, count: int) -> None:
    """See that the ranks' arrays become their sum, in so many messages. Raises Hint."""
    messages: list[list[int]] = [[] for _ in range(size)]
    halfway: dict[int, np.ndarray] = {}

    def function(comm: Any, values: np.ndarray) -> Any:
        neighbours = _Neighbours(comm, values, messages, halfway)
        return _inside(given, neighbours)(neighbours, values)

    if not callable(given):
        raise Hint(f"ring_allreduce should be a function, but it is {given!r:.60}.")
    start = [_digits(rank, size, count) for rank in range(size)]
    arrays = [values.copy() for values in start]
    case = f"with {count} numbers"
    rehearsal = rehearsed(function, [(values,) for values in arrays], case, EVEN)
    where = f"On {size} ranks {case}"
    total = np.sum(start, axis=0)
    if not any(messages):
        if all(np.array_equal(*pair) for pair in zip(arrays, start, strict=True)):
            raise Hint("Nothing is there yet: no rank has called Sendrecv, and the arrays are as they were.")
        raise Hint("No rank has called Sendrecv. A rank can't know the numbers of another rank without a message.")
    if not all(np.array_equal(values, total) for values in arrays):
        fault = _fault(arrays, start, total, rehearsal.results) or _half_fault(arrays, halfway, total, messages)
        raise Hint(f"{where}: {fault}")
    steps, chunk = 2 * (size - 1), -(-count // size) * start[0].itemsize
    for rank, sizes in enumerate(messages):
        if max(sizes, default=0) > chunk:
            raise Hint(
                f"{where}, the sum is right, but rank {rank} sends {max(sizes)} bytes in one message. A chunk has at "
                f"most {chunk} bytes. Send one chunk in a step, not all of the array."
            )
        if len(sizes) != steps:
            raise Hint(f"{where}, the sum is right, but rank {rank} sends {len(sizes)} messages in place of {steps}.")


def _digits(rank: int, size: int, count: int) -> np.ndarray:
    """Numbers of a rank that a sum can be read from: the same power on each place."""
    return np.full(count, float(DIGIT**rank), np.float32)


def _fault(arrays: Sequence[np.ndarray], start: Sequence[np.ndarray], total: np.ndarray, results: Sequence[Any]) -> str:
    """What is wrong with the arrays of all ranks, whatever the messages are; "" where only the messages say it."""
    size, count = len(arrays), len(total)
    if all(np.array_equal(values, total / size) for values in arrays):
        return "your ranks have the mean. The exercise asks for the sum, so don't divide."
    if all(isinstance(result, np.ndarray) and np.array_equal(result, total) for result in results):
        return "the function returns the sum, but `values` is not it. Write into `values` itself: in place."
    if all(np.array_equal(*pair) for pair in zip(arrays, start, strict=True)):
        return (
            "messages arrive, but `values` is as before on all ranks. The chunks should be slices of `values`, and "
            "`chunk += arrived` or `chunk[:] = arrived` writes into a slice. `chunk = chunk + arrived` makes a new "
            "array."
        )
    tail = count - count % size
    if tail and count % size and all(np.array_equal(values[:tail], total[:tail]) for values in arrays):
        return (
            f"the end of the array is in no chunk, {count % size} of {count} numbers. Chunks may differ in length: see "
            "np.array_split."
        )
    return ""


def _half_fault(
    arrays: Sequence[np.ndarray],
    halfway: dict[int, np.ndarray],
    total: np.ndarray,
    messages: Sequence[Sequence[int]],
) -> str:
    """Which half of the algorithm is wrong: the reduce-scatter, or the all-gather behind it."""
    size = len(arrays)
    middle = [halfway.get(rank, values) for rank, values in enumerate(arrays)]
    counts = _counts(middle)
    if counts.max() > 1:
        rank, place, other = (int(number) for number in np.argwhere(counts > 1)[0])
        return (
            f"after {size - 1} steps, rank {rank} has the number of rank {other} {counts[rank, place, other]} times at "
            f"place {place}. In the reduce-scatter, a rank sends the chunk that it received in the step before."
        )
    most = int(counts.sum(axis=2).max())
    if most == 1:
        return (
            f"after {size - 1} steps, no place has the numbers of two ranks. In the reduce-scatter, what arrives is "
            "added to your chunk, in place: `chunk += arrived`."
        )
    if not np.any([values == total for values in middle], axis=0).all():
        return (
            f"after the {size - 1} steps of the reduce-scatter, some chunk is complete on no rank; the best has the "
            f"numbers of {most} of {size} ranks. In each step, a rank sends the chunk to which it has just added."
        )
    if _counts(arrays).max() > 1:
        return (
            "the reduce-scatter is right, and then some numbers are added twice. In the all-gather, what arrives "
            "replaces the chunk."
        )
    if (steps := max(map(len, messages))) < 2 * (size - 1):
        return (
            f"the reduce-scatter is right: each chunk is complete on one rank. Now {size - 1} steps of the all-gather "
            f"spread the sums: {2 * (size - 1)} messages of each rank, and you have {steps}."
        )
    return (
        "the reduce-scatter is right, but the all-gather spreads other chunks. In its first step, a rank sends the "
        "chunk that it has just completed, number (rank + 1) % size."
    )


def _counts(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """How often each rank's number is in a sum: by rank, place, and rank of the number."""
    return np.array([[_decoded(number, len(arrays)) for number in values] for values in arrays])


def _decoded(number: float, size: int) -> list[int]:
    """How often each rank's number is in this sum."""
    digits = int(number) if math.isfinite(number) else 0
    return [digits // DIGIT**rank % DIGIT for rank in range(size)]


# Exercise 2.


def _model(algorithm: str, ranks: int, size: float, alpha: float, beta: float) -> float:
    if algorithm == "ring":
        return 2 * (ranks - 1) * (alpha + beta * size / ranks)
    rounds = math.ceil(math.log2(ranks)) if algorithm == "tree" else ranks - 1
    return 2 * rounds * (alpha + beta * size)


@exercise(
    "allreduce_seconds",
    hint=(
        "Each of the three times is 2 * messages * (alpha + beta * bytes of one message). Messages: ranks - 1 for ring "
        "and server, math.ceil(math.log2(ranks)) for the tree. Bytes: size / ranks for the ring, size for the others."
    ),
    reason=(
        "Messages that follow one another add their times. The ring has many messages of one chunk, the tree few "
        "messages of all bytes, and the server many messages of all bytes."
    ),
)
def allreduce_seconds(given: Callable[..., Any]) -> None:
    alpha, beta = 1e-5, 1e-9

    def at(algorithm: str, ranks: int, size: float, alpha: float = alpha, beta: float = beta) -> float:
        seconds = called("allreduce_seconds", given, algorithm, ranks, size, alpha, beta)
        if isinstance(seconds, bool) or not isinstance(seconds, int | float | np.number):
            raise Hint(f"allreduce_seconds should return a number of seconds, and returns {type(seconds).__name__}.")
        return float(seconds)

    for algorithm in ("ring", "tree", "server"):
        for ranks in (8, 2, 5, 64):
            _compare(algorithm, ranks, lambda size, a, b, kind=algorithm, n=ranks: at(kind, n, size, a, b), alpha, beta)
    if at("ring", 1, 4000) or at("tree", 1, 4000) or at("server", 1, 4000):
        raise Hint("One rank sends nothing: its all-reduce takes 0 seconds with each algorithm.")


def _compare(
    algorithm: str, ranks: int, seconds: Callable[[float, float, float], float], alpha: float, beta: float
) -> None:
    """See that the latencies and the bytes of an algorithm are right. Raises Hint."""
    size = 8e6
    for part, latency, per_byte in (("latency", alpha, 0.0), ("bytes", 0.0, beta), ("both", alpha, beta)):
        came, right = seconds(size, latency, per_byte), _model(algorithm, ranks, size, latency, per_byte)
        if math.isclose(came, right, rel_tol=1e-9, abs_tol=1e-15):
            continue
        unit = latency if part == "latency" else per_byte * size
        text = f"{algorithm}, {ranks} ranks"
        if part == "both":
            raise Hint(f"{text}: latency and bytes are right alone, but not together. Add both times.")
        ratio, wanted = came / unit, right / unit
        if math.isclose(2 * ratio, wanted):
            raise Hint(f"{text}: that is one half. {HALVES[algorithm]}")
        if part == "bytes":
            raise Hint(f"{text}: {_bytes_fault(algorithm, ranks, ratio, wanted)}")
        raise Hint(f"{text}: {_latency_fault(algorithm, ranks, ratio, wanted)}")


HALVES = {
    "ring": "The ring has a reduce-scatter and an all-gather, with ranks - 1 steps each.",
    "tree": "The arrays go up the tree, and the sum comes down again.",
    "server": "The server receives ranks - 1 arrays, and then sends ranks - 1 arrays.",
}


def _latency_fault(algorithm: str, ranks: int, ratio: float, wanted: float) -> str:
    if math.isclose(ratio, 1):
        return f"you count one latency. The algorithm has {wanted:g} messages one after the other."
    if math.isclose(ratio, 2 * (ranks - 1) / ranks):
        return "you divide the latencies by the ranks, too. Each message of a chunk has a full latency."
    if math.isclose(ratio, 2 * ranks):
        return f"you count {2 * ranks} messages. There are 2 (ranks - 1): each half ends one step earlier."
    if algorithm == "tree" and math.isclose(ratio, 2 * (ranks - 1)):
        return (
            "a tree has rounds, in which several ranks send at once. There are log2(ranks) rounds up, and as many down."
        )
    if algorithm == "tree" and math.isclose(ratio, 2 * math.log(ranks)):
        return "math.log is the natural logarithm. The number of pairs halves in each round: take math.log2."
    if algorithm == "tree" and (
        math.isclose(ratio, 2 * math.log2(ranks)) or math.isclose(ratio, 2 * math.floor(math.log2(ranks)))
    ):
        return f"log2({ranks}) is {math.log2(ranks):.2f}, and a tree has no part of a round. Round it up."
    return f"you count {ratio:.3g} latencies, and there are {wanted:g}. Count the messages that follow one another."


def _bytes_fault(algorithm: str, ranks: int, ratio: float, wanted: float) -> str:
    if algorithm == "ring" and math.isclose(ratio, 2 * (ranks - 1)):
        return "a message of the ring has one chunk, size / ranks bytes, and yours has all bytes."
    if algorithm != "ring" and math.isclose(ratio, wanted / ranks):
        return "only the ring cuts the array. Here each message has all `size` bytes."
    if algorithm == "ring" and math.isclose(ratio, 2):
        return f"2 is only the limit for many ranks. On {ranks} ranks each rank sends {wanted:g} times the array."
    if algorithm == "server" and math.isclose(ratio, 2):
        return "all arrays come over the link of rank 0, one after the other."
    if not ratio:
        return "the bytes have no time. A message takes alpha + beta * its bytes."
    return f"the bytes take {ratio:.3g} times beta * size, and the right factor is {wanted:.3g}."


# Exercise 3.


@exercise(
    "buckets",
    hint=(
        "Go through the sizes in order. If the bucket has something and this tensor would make it larger than `limit`, "
        "begin a new bucket. Append the tensor's number to the bucket that is open."
    ),
    reason=(
        "A full bucket is sent at once, while the backward pass goes on. A tensor larger than the limit gets a bucket "
        "alone, because a tensor isn't cut here."
    ),
)
def buckets(given: Callable[..., Any]) -> None:
    cases: tuple[tuple[list[int], int], ...] = (
        ([4, 4, 4, 4], 8),
        ([3, 3, 3, 3], 8),
        ([1, 9, 1], 4),
        ([5], 5),
        ([2, 2, 8, 1, 1], 8),
        ([], 4),
    )
    for sizes, limit in cases:
        answer = called("buckets", given, list(sizes), limit)
        where = call("buckets", sizes, limit)
        try:
            numbers = [[int(number) for number in bucket] for bucket in answer]
        except (TypeError, ValueError):
            raise Hint(
                f"{where} should return a list of lists of tensors' numbers, and returns {answer!r:.80}."
            ) from None
        right = _buckets(sizes, limit)
        if numbers == right:
            continue
        flat = [number for bucket in numbers for number in bucket]
        if numbers and any(not bucket for bucket in numbers):
            raise Hint(
                f"{where} has an empty bucket, for which an all-reduce would be called. Leave empty buckets out."
            )
        if numbers == [[sizes[number] for number in bucket] for bucket in right] or sorted(flat) == sorted(sizes):
            raise Hint(f"{where} has sizes in its buckets. Put in the numbers of the tensors, from 0.")
        if sorted(flat) != list(range(len(sizes))):
            missing = sorted(set(range(len(sizes))) - set(flat))
            raise Hint(
                f"{where} leaves out the tensors {missing}. Append the last bucket, too."
                if missing
                else f"{where} has a tensor twice."
            )
        if flat != list(range(len(sizes))):
            raise Hint(
                f"{where} changes the order. Gradients are ready in this order, and each bucket waits for its last."
            )
        heavy = [bucket for bucket in numbers if len(bucket) > 1 and sum(sizes[number] for number in bucket) > limit]
        if heavy:
            raise Hint(f"{where} has the bucket {heavy[0]}, which is larger than the limit of {limit} bytes.")
        raise Hint(
            f"{where} has {len(numbers)} buckets, and {len(right)} are enough: {right}. A full limit is allowed."
        )


def _buckets(sizes: Sequence[int], limit: int) -> list[list[int]]:
    filled: list[list[int]] = []
    room = 0
    for number, size in enumerate(sizes):
        if not filled or size > room:
            filled.append([])
            room = limit
        filled[-1].append(number)
        room -= size
    return filled
