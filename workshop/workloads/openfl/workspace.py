"""The files that OpenFL reads: a workspace with the plan, the source files, the first weights, and the images."""

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
from workshop.workloads.openfl import OpenFLParams
from workshop.workloads.segmentation import CHANNELS, SegmentationParams

AGGREGATOR = "localhost"  # its name in the certificate and in the plan
FOLDER = "federation"  # the name of the workspace and of its archive
IMAGES = "images.npz"
CHAIN = Path("cert") / "cert_chain.crt"
SIGNING_CA = Path("cert") / "ca"  # the folder of the authority, in the workspace of the aggregator
SERVER = Path("cert") / "server" / f"agg_{AGGREGATOR}.crt"
STRAGGLERS = "openfl.component.aggregator.straggler_handling"
LAYERS = {"cnn": ("first", "second", "hidden", "digits"), "dense": ("hidden", "digits")}  # as src/network.py names them


def template() -> Path:
    """Return the workspace of the lab."""
    return config.labs_folder() / "federated" / "openfl" / "workspace"


def collaborator(number: int) -> str:
    """Return the name of an institution, counted from 0, in certificates and in the plan."""
    return f"institution{number + 1}"


def certificate(name: str, kind: str = "crt") -> Path:
    """Return where a collaborator's certificate is in its workspace, its "key" or its request ("csr")."""
    return Path("cert") / "client" / f"col_{name}.{kind}"


def plan(params: OpenFLParams, port: int) -> dict[str, Any]:
    """Return the lab's plan with a run's values. OpenFL needs one more round than the run, to test the last model. For
    the fault `dies`, rounds end after `patience` without the dead collaborator; for `restart`, the aggregator can go on
    after a restart."""
    plan = yaml.safe_load((template() / "plan" / "plan.yaml").read_text())
    plan["aggregator"]["settings"]["rounds_to_train"] = params.rounds + 1
    plan["aggregator"]["settings"]["persist_checkpoint"] = params.fault == "restart"
    plan["data_loader"]["settings"] |= {"batch_size": params.batch, "seed": params.seed}
    plan["task_runner"]["settings"] |= {"network": params.model, "rate": params.rate, "seed": params.seed}
    plan["tasks"]["train"]["kwargs"] |= {"batch_size": params.batch, "epochs": params.epochs}
    plan["network"]["settings"] |= {"agg_addr": AGGREGATOR, "agg_port": port}
    same = params.as_federated()
    if isinstance(same, SegmentationParams):
        shape = [same.size, same.size, len(CHANNELS[same.modality])]
        plan["data_loader"]["settings"] |= {"shape": shape, "classes": 1}
        plan["task_runner"]["template"] = "src.segmentation.Lesions"
        for task in plan["tasks"].values():
            task["kwargs"]["metrics"] = [{"accuracy": "dice"}.get(name, name) for name in task["kwargs"]["metrics"]]
    if params.fault == "dies":
        plan["straggler_handling_policy"] = {
            "template": f"{STRAGGLERS}.CutoffTimePolicy",
            "settings": {"straggler_cutoff_time": params.patience, "minimum_reporting": params.collaborators - 1},
        }
    return dict(plan)


def write_workspace(folder: Path, plan: Mapping[str, Any], initial: bytes, network: str = "") -> None:
    """Make the aggregator's workspace: the lab's, with this plan and the first weights (see `weights`). `network` is
    the network as Keras writes it in JSON, unless it is one of src/network.py."""
    shutil.copytree(template(), folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("cert", "data", "logs", "save", "local_state"):
        (folder / name).mkdir(mode=0o700, exist_ok=True)
    shutil.copy(template().parent / "requirements.txt", folder / "requirements.txt")
    (folder / "plan" / "plan.yaml").write_text(yaml.safe_dump(dict(plan)))
    (folder / "save" / "initial.npz").write_bytes(initial)
    if network:
        (folder / "src" / "unet.json").write_text(network)


def write_images(folder: Path, arrays: Sequence[NDArray[Any]], institution: int) -> None:
    """Write an institution's file as src/dataloader.py reads it. `arrays` are images and labels to learn from, then
    those to validate with: float32 [n, 28, 28, 1] and int32 [n]."""
    names = ("X_train", "y_train", "X_valid", "y_valid")
    contents: dict[str, Any] = dict(zip(names, arrays, strict=True))
    np.savez(folder / IMAGES, institution=np.int64(institution), **contents)


def weights(names: Sequence[str], values: Sequence[NDArray[np.float32]]) -> bytes:
    """Return weights, which are in the order of the model's layers, as an npz file with OpenFL's `names`."""
    file = io.BytesIO()
    contents: dict[str, Any] = dict(zip(names, values, strict=True))
    np.savez(file, **contents)
    return file.getvalue()


def names(params: OpenFLParams, network: Any) -> list[str]:
    """Return OpenFL's names of the weights of a run's Keras network, in their order."""
    if params.task == "segmentation":
        return [f"{layer.name}/{weight.name}" for layer in network.layers for weight in layer.weights]
    return [f"{layer}/{weight}" for layer in LAYERS[params.model] for weight in ("kernel", "bias")]
