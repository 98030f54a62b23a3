"""The input files of a run: images, a model, a checkpoint; read and checked where the run is submitted."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import TYPE_CHECKING

from workshop.core.errors import BadInput
from workshop.core.forms import EARLIER, is_run_number
from workshop.engine.training import checkpoint
from workshop.extension import Artifacts
from workshop.workloads.mnist.data import images
from workshop.workloads.mnist.data.places import at

if TYPE_CHECKING:
    from workshop.workloads.mnist import MnistParams


def inputs(params: MnistParams, artifacts: Artifacts) -> Mapping[str, bytes]:
    """The files by the names under which ranks find them. Raises BadInput."""
    if params.data != EARLIER:
        files = images.find(params.data)
    else:
        earlier = {name: _earlier_input(params, artifacts, name) for name in images.names()}
        files = {name: data for name, data in earlier.items() if data is not None}
        if not files:
            raise BadInput(f"Run {params.resume} has kept no data of its own; give data anew.")
    if params.model == EARLIER:
        if (model := _earlier_input(params, artifacts, "model.keras")) is None:
            raise BadInput(f"Run {params.resume} has kept no model of its own; give model anew.")
        files["model.keras"] = model
    elif params.model not in ("cnn", "dense"):
        files["model.keras"] = _model(params.model)
    if params.resume:
        files |= _checkpoint(params, artifacts)
    return files


def _earlier_input(params: MnistParams, artifacts: Artifacts, name: str) -> bytes | None:
    """An input that the earlier run has kept; None where it has none of this name. Raises BadInput."""
    if not is_run_number(params.resume):
        raise BadInput(
            f"data or model is {EARLIER}, but resume names no run from which to take it; give the number of one."
        )
    try:
        return artifacts(int(params.resume), f"input/{name}")
    except BadInput:
        return None


def _model(path: str) -> bytes:
    """A file that Keras has saved: a ZIP archive with the model's configuration. The ranks check its contents."""
    right = "it should be cnn, dense or a file saved by model.save('name.keras')"
    data = at(path).data
    try:
        names = zipfile.ZipFile(io.BytesIO(data)).namelist()
    except zipfile.BadZipFile:
        names = []
    if not {"config.json", "model.weights.h5"} <= {*names}:
        raise BadInput(f"{path} is not a Keras model; {right}.")
    return data


def _checkpoint(params: MnistParams, artifacts: Artifacts) -> dict[str, bytes]:
    """The checkpoint to go on from: a file, or the newest whole one of a run, with a notice where newer ones are
    damaged. Raises BadInput."""
    notice = ""
    if is_run_number(params.resume):
        run = int(params.resume)
        name = f"The checkpoint of run {run}"
        data, read, notice = checkpoint.newest_whole(lambda file: artifacts(run, file), f"of run {run}")
    else:
        name = params.resume
        data = at(params.resume).data
        read = checkpoint.unpack(data, name)
    if read.progress["epoch"] >= params.epochs:
        raise BadInput(
            f"{name} has {read.progress['epoch']} epochs behind it, and epochs asks for {params.epochs} in all; "
            f"ask for more, like {read.progress['epoch'] + 1}."
        )
    return {checkpoint.NAME: data, **({checkpoint.NOTICE: notice.encode()} if notice else {})}
