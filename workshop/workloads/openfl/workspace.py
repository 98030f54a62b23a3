"""What OpenFL reads: a workspace with the plan, the source that travels to everybody, and the first weights."""

from __future__ import annotations

import io
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from workshop.core import config

AGGREGATOR = "localhost"  # its name in the certificate and in the plan
STRAGGLERS = "openfl.component.aggregator.straggler_handling"
LAYERS = {"cnn": ("first", "second", "hidden", "digits"), "dense": ("hidden", "digits")}  # as src/network.py names them


def template() -> Path:
    """The workspace of the lab."""
    return config.labs_folder() / "federated" / "openfl" / "workspace"


def collaborator(one: int) -> str:
    """The name of an institution, counted from 0, in certificates and in the plan."""
    return f"institution{one + 1}"


def plan(
    *,
    rounds: int,
    epochs: int,
    batch: int,
    rate: float,
    model: str,
    seed: int,
    port: int,
    checkpoint: bool = False,
    patience: float | None = None,
    enough: int = 1,
) -> dict[str, Any]:
    """The lab's plan with these values. With `patience` a round ends after so many seconds where at least `enough`
    collaborators have answered. With `checkpoint` the aggregator can go on after a restart. OpenFL's last round, one
    more than there are to learn in, tests the last model."""
    found = yaml.safe_load((template() / "plan" / "plan.yaml").read_text())
    aggregator = found["aggregator"]["settings"]
    aggregator["rounds_to_train"] = rounds + 1
    aggregator["persist_checkpoint"] = checkpoint
    found["data_loader"]["settings"] |= {"batch_size": batch, "seed": seed}
    found["task_runner"]["settings"] |= {"network": model, "rate": rate, "seed": seed}
    found["tasks"]["train"]["kwargs"] |= {"batch_size": batch, "epochs": epochs}
    found["network"]["settings"] |= {"agg_addr": AGGREGATOR, "agg_port": port}
    if patience is not None:
        found["straggler_handling_policy"] = {
            "template": f"{STRAGGLERS}.CutoffTimePolicy",
            "settings": {"straggler_cutoff_time": patience, "minimum_reporting": enough},
        }
    return found


def write_workspace(folder: Path, plan: Mapping[str, Any], initial: bytes) -> None:
    """Make the aggregator's workspace: the lab's, with this plan and the first weights (see `weights`)."""
    shutil.copytree(template(), folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("cert", "data", "logs", "save", "local_state"):
        (folder / name).mkdir(mode=0o700, exist_ok=True)
    shutil.copy(template().parent / "requirements.txt", folder / "requirements.txt")
    (folder / "plan" / "plan.yaml").write_text(yaml.safe_dump(dict(plan)))
    (folder / "save" / "initial.npz").write_bytes(initial)


def write_images(folder: Path, arrays: Mapping[str, NDArray[Any]], institution: int) -> None:
    """An institution's private folder, as src/dataloader.py reads it: X_train, y_train, X_valid, y_valid."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    np.savez(folder / "images.npz", institution=np.int64(institution), **arrays)


def weights(model: str, values: Sequence[NDArray[np.float32]]) -> bytes:
    """Weights in the order of the model's layers, as an npz file with the names that OpenFL gives them."""
    file = io.BytesIO()
    np.savez(file, **dict(zip(names(model), values, strict=True)))
    return file.getvalue()


def names(model: str) -> list[str]:
    """OpenFL's names of a model's weights, in their order."""
    return [f"{layer}/{weight}" for layer in LAYERS[model] for weight in ("kernel", "bias")]
