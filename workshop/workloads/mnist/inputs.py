"""What a run brings along: images, a model's file, a checkpoint; read and checked where the run is submitted."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from workshop.core import archives
from workshop.core.errors import BadInput
from workshop.core.forms import EARLIER, is_run_number
from workshop.engine.data import images
from workshop.engine.data.files import ordinary
from workshop.engine.training import checkpoint
from workshop.extension import Artifacts

if TYPE_CHECKING:
    from workshop.workloads.mnist import MnistParams

LARGEST_CONFIG = 4 << 20  # bytes of a model's description


def inputs(params: MnistParams, artifacts: Artifacts) -> Mapping[str, bytes]:
    """The files by the names under which ranks find them. Raises BadInput."""
    found = images.again(_kept(params, artifacts)) if params.data == EARLIER else images.find(params.data)
    if params.data == EARLIER and not found:
        raise BadInput(f"Run {params.resume} has kept no data of its own; give data anew.")
    if params.model == EARLIER:
        if (model := _kept(params, artifacts)("model.keras")) is None:
            raise BadInput(f"Run {params.resume} has kept no model of its own; give model anew.")
        found["model.keras"] = model
    elif params.model not in ("cnn", "dense"):
        found["model.keras"] = _model(params.model)
    if params.resume:
        found[checkpoint.NAME] = _checkpoint(params, artifacts)
    return found


def _kept(params: MnistParams, artifacts: Artifacts) -> Callable[[str], bytes | None]:
    """The earlier run's inputs by name; None for missing ones. Raises BadInput."""
    if not is_run_number(params.resume):
        raise BadInput(
            f"data or model is {EARLIER}, but resume names no run from which to take it; give the number of one."
        )

    def kept(name: str) -> bytes | None:
        try:
            return artifacts(int(params.resume), f"input/{name}")
        except BadInput:
            return None

    return kept


def _read(given: str, right: str) -> bytes:
    """The bytes of a file that a param names. Raises BadInput."""
    try:
        return ordinary(Path(given).expanduser(), given, right)
    except OSError as error:
        raise BadInput(f"{given} can't be read ({error.strerror}); {right}.") from error
    except (RuntimeError, ValueError) as error:  # ~somebody whom nobody knows; a null character
        raise BadInput(f"{given!r} is no path ({str(error).rstrip('.')}); {right}.") from error


def _model(given: str) -> bytes:
    """A file that Keras has saved: a ZIP archive with the model's configuration. The ranks check its contents."""
    right = "it should be cnn, dense or a file saved by model.save('name.keras')"
    data = _read(given, right)
    try:
        with archives.opened(data) as archive:
            json.loads(archives.read(archive, "config.json", LARGEST_CONFIG))
            archive.getinfo("model.weights.h5")
    except Exception as error:  # from damaged bytes, zipfile raises nearly anything
        raise BadInput(f"{given} is not a Keras model; {right}.") from error
    return data


def _checkpoint(params: MnistParams, artifacts: Artifacts) -> bytes:
    if is_run_number(params.resume):
        name = f"The checkpoint of run {params.resume}"
        data = artifacts(int(params.resume), checkpoint.NAME)
    else:
        name = params.resume
        data = _read(params.resume, "give a run's number, or the checkpoint.npz that a run has kept")
    found = checkpoint.unpack(data, name)
    if found.progress["epoch"] >= params.epochs:
        raise BadInput(
            f"{name} has {found.progress['epoch']} epochs behind it, and epochs asks for {params.epochs} in all; "
            f"ask for more, like {found.progress['epoch'] + 1}."
        )
    return data
