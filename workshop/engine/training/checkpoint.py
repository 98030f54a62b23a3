"""Checkpoints: weights, the optimizer's state and how far training has come, in one NumPy file without pickles."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.core import archives
from workshop.core.errors import BadInput
from workshop.engine.data import npz

FORMAT = 1
NAME = "checkpoint.npz"
LARGEST_ABOUT = 4 << 20  # bytes


@dataclass(frozen=True)
class Checkpoint:
    """`weights` and `optimizer` hold arrays in the order of `model.weights` and `optimizer.variables`; `progress` is
    what the loop needs to go on."""

    weights: list[NDArray[Any]]
    optimizer: list[NDArray[Any]]
    optimizer_name: str
    progress: dict[str, Any]

    def digest(self) -> str:
        """sha256 of all arrays: the same for checkpoints that hold the same, however long they took."""
        checksum = hashlib.sha256()
        for array in [*self.weights, *self.optimizer]:
            checksum.update(np.ascontiguousarray(array).tobytes())
        return checksum.hexdigest()

    def pack(self) -> bytes:
        """As the bytes of a file."""
        about = {
            "format": FORMAT,
            "arrays": len(self.weights) + len(self.optimizer),
            "optimizer": self.optimizer_name,
            "progress": self.progress,
        }
        arrays: dict[str, Any] = {f"weights/{number:04}": array for number, array in enumerate(self.weights)}
        arrays |= {f"optimizer/{number:04}": array for number, array in enumerate(self.optimizer)}
        file = io.BytesIO()
        np.savez(file, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays)
        return file.getvalue()


def unpack(data: bytes, name: str = NAME) -> Checkpoint:
    """Read a checkpoint that may come from anybody. Raises BadInput with its name for other data."""
    try:
        with archives.opened(data) as archive:
            keys = sorted(member.removesuffix(".npy") for member in archive.namelist())
        _check_members(keys)
        arrays = npz.read(data, name, keys)
        if arrays["about"].nbytes > LARGEST_ABOUT:
            raise ValueError("what it says of itself is too long")
        about = json.loads(arrays.pop("about").tobytes())
        if about["format"] != FORMAT:
            raise ValueError(f"its format is {about['format']}")
        # zipfile says nothing where damage to an archive's end hides its last files. Older checkpoints have no count.
        if about.get("arrays", len(arrays)) != len(arrays):
            raise ValueError("some of its arrays are missing")
        weights, optimizer = (
            [array for key, array in arrays.items() if key.startswith(part)] for part in ("weights/", "optimizer/")
        )
        progress = about["progress"]
        numbers = [progress["epoch"], progress["update"], progress.get("seconds", 0)]
        if not weights or not all(_sensible(value) for value in numbers) or not isinstance(numbers[0], int):
            raise ValueError("it doesn't say how far it came")
        if any(array.dtype.kind not in "fiub" for array in [*weights, *optimizer]):
            raise ValueError("it holds other things than numbers")
        return Checkpoint(weights, optimizer, str(about["optimizer"]), progress)
    except Exception as error:  # whatever a damaged or foreign file makes the readers raise
        raise BadInput(
            f"{name} is not a checkpoint of a training run ({str(error)[:80] or type(error).__name__}); give the "
            f"{NAME} that a run has kept."
        ) from error


def _check_members(keys: Sequence[str]) -> None:
    """Check that an archive with these sorted names has everything that `pack` writes, and nothing else. Raises
    ValueError."""
    weights = sum(key.startswith("weights/") for key in keys)
    optimizer = len(keys) - 1 - weights
    numbered = [f"optimizer/{number:04}" for number in range(optimizer)]
    if list(keys) != ["about", *numbered, *(f"weights/{number:04}" for number in range(weights))]:
        raise ValueError("its arrays are not those of a whole checkpoint")


def _sensible(value: Any) -> bool:
    """Whether that many epochs, updates or seconds can be behind a run."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**53


def capture(model: Any, optimizer: Any, progress: Mapping[str, Any]) -> Checkpoint:
    """A checkpoint of a Keras model's and an optimizer's present state."""
    return Checkpoint(
        [weight.numpy() for weight in model.weights],
        [np.asarray(variable.numpy()) for variable in optimizer.variables],
        type(optimizer).__name__,
        dict(progress),
    )


def check(weights: Sequence[Any], checkpoint: Checkpoint, name: str = NAME) -> None:
    """See that a checkpoint is of a model with these weights. Raises BadInput."""
    here = [tuple(weight.shape) for weight in weights]
    saved_shapes = [array.shape for array in checkpoint.weights]
    if here == saved_shapes:
        return
    if len(here) != len(saved_shapes):
        difference = f"it has {len(saved_shapes)} arrays of weights, this model has {len(here)}"
    else:
        number = next(
            number
            for number, (shape, saved_shape) in enumerate(zip(here, saved_shapes, strict=True))
            if shape != saved_shape
        )
        difference = f"its weight {number} is {_shape(saved_shapes[number])}, this model's is {_shape(here[number])}"
    raise BadInput(f"{name} is of another model: {difference}; choose the model that it was trained with.")


def _shape(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) or "a number"


def restore(model: Any, optimizer: Any, checkpoint: Checkpoint, name: str = NAME) -> None:
    """Put a checkpoint into a model and its (built) optimizer. Raises BadInput where it is of another one."""
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
