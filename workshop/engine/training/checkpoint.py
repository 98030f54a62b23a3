"""Checkpoints: weights, the optimizer's state and how far training has come, in one NumPy file without pickles."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.errors import BadInput

FORMAT = 1
LARGEST = 512 << 20  # bytes that a checkpoint may unfold to
NAME = "checkpoint.npz"


@dataclass(frozen=True)
class Checkpoint:
    """`weights` and `optimizer` hold arrays in the order of `model.weights` and `optimizer.variables`; `progress` is
    what the loop needs to go on."""

    weights: list[NDArray[Any]]
    optimizer: list[NDArray[Any]]
    optimizer_name: str
    progress: dict[str, Any]

    def pack(self) -> bytes:
        """As the bytes of a file."""
        about = {"format": FORMAT, "optimizer": self.optimizer_name, "progress": self.progress}
        arrays = {f"weights/{number:04}": array for number, array in enumerate(self.weights)}
        arrays |= {f"optimizer/{number:04}": array for number, array in enumerate(self.optimizer)}
        file = io.BytesIO()
        np.savez(file, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays)
        return file.getvalue()


def unpack(data: bytes, name: str = NAME) -> Checkpoint:
    """Read a checkpoint. Raises BadInput, naming it, for anything else."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(member.file_size for member in archive.infolist()) > LARGEST:
                raise ValueError("it is too large")
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            about = json.loads(file["about"].tobytes())
            if about["format"] != FORMAT:
                raise ValueError(f"its format is {about['format']}")
            weights, optimizer = (
                [file[key] for key in sorted(file) if key.startswith(part)] for part in ("weights/", "optimizer/")
            )
        progress = about["progress"]
        if not all(isinstance(progress[key], int) and progress[key] >= 0 for key in ("epoch", "update")) or not weights:
            raise ValueError("it doesn't say how far it came")
        return Checkpoint(weights, optimizer, str(about["optimizer"]), progress)
    except Exception as error:  # whatever a damaged or foreign file makes the readers raise
        raise BadInput(
            f"{name} is not a checkpoint of a training run ({str(error)[:80] or type(error).__name__}); give the "
            f"{NAME} that a run has kept."
        ) from error


def taken(model: Any, optimizer: Any, progress: Mapping[str, Any]) -> Checkpoint:
    """A checkpoint of a Keras model and optimizer as they are now."""
    return Checkpoint(
        [weight.numpy() for weight in model.weights],
        [np.asarray(variable.numpy()) for variable in optimizer.variables],
        type(optimizer).__name__,
        dict(progress),
    )


def check(weights: Sequence[Any], found: Checkpoint, name: str = NAME) -> None:
    """See that a checkpoint is of a model with these weights. Raises BadInput."""
    here = [tuple(weight.shape) for weight in weights]
    there = [array.shape for array in found.weights]
    if here == there:
        return
    if len(here) != len(there):
        apart = f"it has {len(there)} weights, this model has {len(here)}"
    else:
        number = next(number for number, (one, other) in enumerate(zip(here, there, strict=True)) if one != other)
        apart = f"its weight {number} is {_shape(there[number])}, this model's is {_shape(here[number])}"
    raise BadInput(f"{name} is of another model: {apart}; choose the model that it was trained with.")


def _shape(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) or "a number"


def restore(model: Any, optimizer: Any, found: Checkpoint, name: str = NAME) -> None:
    """Put a checkpoint into a model and its (built) optimizer. Raises BadInput where it is of another one."""
    check(model.weights, found, name)
    shapes = [tuple(variable.shape) for variable in optimizer.variables]
    if found.optimizer_name != type(optimizer).__name__ or shapes != [array.shape for array in found.optimizer]:
        raise BadInput(
            f"{name} was trained with the optimizer {found.optimizer_name}, this run has {type(optimizer).__name__} "
            "or other settings of it; choose the same."
        )
    for weight, value in zip(model.weights, found.weights, strict=True):
        weight.assign(value)
    for variable, value in zip(optimizer.variables, found.optimizer, strict=True):
        variable.assign(value)
