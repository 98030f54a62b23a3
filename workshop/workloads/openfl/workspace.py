"""The files that OpenFL reads: a workspace with the plan, the source files, the first weights, and the images."""

from __future__ import annotations

import io
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from workshop.core import config
from workshop.workloads.federated.training.task import Silo
from workshop.workloads.openfl import OpenFLParams
from workshop.workloads.segmentation import CHANNELS, SegmentationParams

AGGREGATOR = "localhost"  # its name in the certificate and in the plan
FOLDER = "federation"  # the name of the workspace and of its archive
IMAGES = "images.npz"
CHAIN = Path("cert") / "cert_chain.crt"
SERVER = Path("cert") / "server" / f"agg_{AGGREGATOR}.crt"
PATIENCE = 10  # seconds after which a round goes on without those that are missing
STRAGGLERS = "openfl.component.aggregator.straggler_handling"
LAYERS = {"cnn": ("first", "second", "hidden", "digits"), "dense": ("hidden", "digits")}  # as src/network.py names them


def template() -> Path:
    """Return the workspace of the lab."""
    return config.labs_folder() / "federated" / "openfl" / "workspace"


def collaborator(number: int) -> str:
    """Return the name of an institution, counted from 0, in certificates and in the plan."""
    return f"institution{number + 1}"


def certificate(name: str) -> Path:
    """Return where a collaborator's certificate is in its workspace."""
    return Path("cert") / "client" / f"col_{name}.crt"


def plan(params: OpenFLParams, port: int) -> dict[str, Any]:
    """Return the lab's plan with a run's values. OpenFL needs one more round than the run, to test the last model. For
    the fault `dies`, rounds end after `PATIENCE` without the dead collaborator."""
    plan = yaml.safe_load((template() / "plan" / "plan.yaml").read_text())
    plan["aggregator"]["settings"]["rounds_to_train"] = params.rounds + 1
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
            "settings": {"straggler_cutoff_time": PATIENCE, "minimum_reporting": params.collaborators - 1},
        }
    return dict(plan)


def write_workspace(folder: Path, plan: Mapping[str, Any], initial: bytes, network: str) -> None:
    """Make the aggregator's workspace: the lab's, with this plan and the first weights (see `weights`). `network` is
    the network as Keras writes it in JSON; "" for one of src/network.py."""
    shutil.copytree(template(), folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("cert", "data", "logs", "save", "local_state"):
        (folder / name).mkdir(mode=0o700, exist_ok=True)
    shutil.copy(template().parent / "requirements.txt", folder / "requirements.txt")
    (folder / "plan" / "plan.yaml").write_text(yaml.safe_dump(dict(plan)))
    (folder / "save" / "initial.npz").write_bytes(initial)
    if network:
        (folder / "src" / "unet.json").write_text(network)


def write_images(folder: Path, silo: Silo, institution: int) -> None:
    """Write an institution's file as src/dataloader.py reads it: its images and labels to learn from, and its own to
    validate with."""
    parts = {"X_train": silo.images, "y_train": silo.labels, "X_valid": silo.own_images, "y_valid": silo.own_labels}
    contents: dict[str, Any] = {"institution": np.int64(institution), **parts}
    np.savez(folder / IMAGES, **contents)


def weights(params: OpenFLParams, network: Any) -> bytes:
    """Return a run's Keras network's weights as an npz file with OpenFL's names."""
    file = io.BytesIO()
    values = [weight.numpy() for weight in network.weights]
    contents: dict[str, Any] = dict(zip(names(params, network), values, strict=True))
    np.savez(file, **contents)
    return file.getvalue()


def names(params: OpenFLParams, network: Any) -> list[str]:
    """Return OpenFL's names of the weights of a run's Keras network, in their order."""
    if params.task == "segmentation":
        return [f"{layer.name}/{weight.name}" for layer in network.layers for weight in layer.weights]
    return [f"{layer}/{weight}" for layer in LAYERS[params.model] for weight in ("kernel", "bias")]
