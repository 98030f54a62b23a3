"""What a run brings along: images, a model's file, a checkpoint; read and checked where the run is submitted."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

from workshop.engine.data import images
from workshop.engine.training import checkpoint
from workshop.errors import BadInput
from workshop.workloads import Artifacts
from workshop.workloads.mnist import MnistParams

MOST = 64 << 20  # bytes of a file


def inputs(params: MnistParams, artifacts: Artifacts) -> Mapping[str, bytes]:
    """The files by the names under which ranks find them. Raises BadInput."""
    found = dict(images.find(params.data))
    if params.model not in ("cnn", "dense"):
        found["model.keras"] = _model(Path(params.model).expanduser())
    if params.resume:
        found[checkpoint.NAME] = _checkpoint(params, artifacts)
    return found


def _read(path: Path, what: str) -> bytes:
    try:
        if path.stat().st_size > MOST:
            raise BadInput(f"{path} has more than 64 MB; {what} should be smaller.")
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path} can't be read ({error.strerror}); it should be {what}.") from error


def _model(path: Path) -> bytes:
    """A file that Keras has saved: a ZIP archive with the model's configuration. What is in it, ranks will see."""
    data = _read(path, "cnn, dense or a model saved by Keras (.keras)")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            json.loads(archive.read("config.json"))
            archive.getinfo("model.weights.h5")
    except (zipfile.BadZipFile, KeyError, ValueError, OSError, NotImplementedError, RuntimeError) as error:
        raise BadInput(
            f"{path} is not a Keras model; it should be cnn, dense or a file saved by model.save('name.keras')."
        ) from error
    return data


def _checkpoint(params: MnistParams, artifacts: Artifacts) -> bytes:
    if params.resume.isdecimal():
        if len(params.resume) > 12:
            raise BadInput("resume has too many digits: there is no run of that number.")
        name = f"The checkpoint of run {params.resume}"
        data = artifacts(int(params.resume), checkpoint.NAME)
    else:
        name = params.resume
        data = _read(Path(params.resume).expanduser(), "a run's number or the checkpoint.npz that a run has kept")
    found = checkpoint.unpack(data, name)
    if found.progress["epoch"] >= params.epochs:
        raise BadInput(
            f"{name} has {found.progress['epoch']} epochs behind it, as many as epochs asks for; "
            f"ask for more, like {found.progress['epoch'] + 1}."
        )
    return data
