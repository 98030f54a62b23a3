"""Checkpoints: weights, the optimizer's state and how far training has come, in one NumPy file without pickles.

A run keeps its newest checkpoint as checkpoint.npz, the one before as checkpoint-1.npz, the oldest as checkpoint-2.npz.
A new one renames the older two in the transaction that stores it. So no bytes are stored twice, and readers of
checkpoint.npz find the newest one.

The time between two checkpoints that loses the least: a checkpoint costs time, a failure costs what came after it.

All times are in seconds. `cost` is the time that training loses by a checkpoint, `mtbf` the mean time between failures,
which come independently of each other.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.core import words
from workshop.core.errors import BadInput

FORMAT = 2
NAME = "checkpoint.npz"
NOTICE = "checkpoint.notice"  # an input beside it: what `newest_whole` says of damaged ones
FORMER = ("checkpoint-1.npz", "checkpoint-2.npz")  # the newer one first
MEMBER = 512  # bytes that the archive needs for an array besides its values, at most


@dataclass(frozen=True)
class Checkpoint:
    """`weights` and `optimizer` hold arrays in the order of `model.weights` and `optimizer.variables`; `progress` is
    what the loop needs to go on."""

    weights: list[NDArray[Any]]
    optimizer: list[NDArray[Any]]
    optimizer_name: str
    progress: dict[str, Any]

    @cached_property
    def digest(self) -> str:
        """sha256 of all arrays with their types and shapes: the same for checkpoints that hold the same, however long
        they took."""
        checksum = hashlib.sha256()
        for array in [*self.weights, *self.optimizer]:
            checksum.update(f"{array.dtype.str} {array.shape} ".encode())
            checksum.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        return checksum.hexdigest()

    @property
    def size(self) -> int:
        """The bytes of the file that `pack` returns; slightly too many."""
        arrays = [*self.weights, *self.optimizer]
        return sum(array.nbytes for array in arrays) + MEMBER * (len(arrays) + 1) + len(json.dumps(self.progress))

    def pack(self) -> bytes:
        """The checkpoint as the bytes of a file."""
        about = {
            "format": FORMAT,
            "sha256": self.digest,
            "optimizer": self.optimizer_name,
            "progress": self.progress,
        }
        arrays: dict[str, Any] = {f"weights/{number:04}": array for number, array in enumerate(self.weights)}
        arrays |= {f"optimizer/{number:04}": array for number, array in enumerate(self.optimizer)}
        file = io.BytesIO()
        np.savez(file, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays)
        return file.getvalue()


def unpack(data: bytes, name: str = NAME) -> Checkpoint:
    """Read a checkpoint. Raises BadInput with its name for other data, and where the arrays aren't those that were
    written."""
    try:
        with np.load(io.BytesIO(data)) as archive:
            arrays = {key: archive[key] for key in sorted(archive.files)}
        about = json.loads(arrays.pop("about").tobytes())
        if about["format"] != FORMAT:
            raise ValueError(f"its format is {about['format']}")
        weights, optimizer = (
            [array for key, array in arrays.items() if key.startswith(part)] for part in ("weights/", "optimizer/")
        )
        progress = about["progress"]
        if not weights or not all(isinstance(progress.get(name), int) for name in ("epoch", "update")):
            raise ValueError("it doesn't say how far it came")
        checkpoint = Checkpoint(weights, optimizer, str(about["optimizer"]), progress)
        if about["sha256"] != checkpoint.digest:
            raise ValueError("its arrays are not those that were written: their sha256 differs")
        return checkpoint
    except Exception as error:  # whatever a damaged or foreign file makes the readers raise
        raise BadInput(
            f"{name} is not a checkpoint of a training run ({str(error)[:80] or type(error).__name__}); give the "
            f"{NAME} that a run has kept."
        ) from error


def newest_whole(read: Callable[[str], bytes], whose: str) -> tuple[bytes, Checkpoint, str]:
    """Read the newest checkpoint that is whole, as its file, unpacked, and a sentence on newer ones that are damaged or
    "". `read` returns a file by its name or raises BadInput where there is none; `whose` is in the messages, such as
    "of run 7". Raises BadInput of the newest one if none is whole."""
    damage: list[BadInput] = []
    for name in (NAME, *FORMER):
        try:
            data = read(name)
        except BadInput:
            if not damage:
                raise
            continue  # the run has kept fewer
        try:
            checkpoint = unpack(data, f"{name} {whose}")
        except BadInput as error:
            damage.append(error)
            continue
        if not damage:
            return data, checkpoint, ""
        done = words.count(checkpoint.progress["update"], "update")
        return data, checkpoint, f"{damage[0]} The run goes on from the older {name}, with {done} done."
    raise damage[0]


def capture(model: Any, optimizer: Any, progress: Mapping[str, Any]) -> Checkpoint:
    """A checkpoint of a Keras model's and an optimizer's present state, whose arrays are copies."""
    return Checkpoint(
        [weight.numpy() for weight in model.weights],
        [np.asarray(variable.numpy()) for variable in optimizer.variables],
        type(optimizer).__name__,
        dict(progress),
    )


def check(weights: Sequence[Any], checkpoint: Checkpoint, name: str = NAME) -> None:
    """Check that a checkpoint belongs to a model with these weights. Raises BadInput."""
    if [tuple(weight.shape) for weight in weights] != [array.shape for array in checkpoint.weights]:
        raise BadInput(
            f"{name} is of another model: its weights have other shapes; choose the model that it was trained with."
        )


def restore(model: Any, optimizer: Any, checkpoint: Checkpoint, name: str = NAME) -> None:
    """Put a checkpoint into a model and its (built) optimizer. Raises BadInput where the checkpoint belongs to another
    model."""
    check(model.weights, checkpoint, name)
    shapes = [tuple(variable.shape) for variable in optimizer.variables]
    if checkpoint.optimizer_name != type(optimizer).__name__ or shapes != [
        array.shape for array in checkpoint.optimizer
    ]:
        raise BadInput(
            f"{name} was trained with the optimizer {checkpoint.optimizer_name}, this run has "
            f"{type(optimizer).__name__} or other settings of it; choose the same."
        )
    for weight, value in zip(model.weights, checkpoint.weights, strict=True):
        weight.assign(value)
    for variable, value in zip(optimizer.variables, checkpoint.optimizer, strict=True):
        variable.assign(value)


def young(cost: float, mtbf: float) -> float:
    """Young's interval, sqrt(2 cost mtbf): a first-order approximation for a cost that is small against `mtbf`.
    Source: J. W. Young, A First Order Approximation to the Optimum Checkpoint Interval, Communications of the ACM
    17(9), 1974."""
    return math.sqrt(2 * cost * mtbf)
