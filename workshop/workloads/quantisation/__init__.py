"""Number formats: a network in FP32, FP16, BF16, INT8 and INT16, after training. This file only describes the workload.

`formats` converts and runs the network with TensorFlow Lite and looks into its layers, `report` shows both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from workshop.core.errors import BadInput
from workshop.engine.fields import ADVANCED, Data, setting
from workshop.extension import Artifacts, Extension, Params, Preset, Workload

ARTIFACT = "quantisation.json"  # what the figures are drawn of
MADE_UP = 100  # images for ResNet-50: it has learned nothing, so that more would say no more
# Title, and the formats of weights, activations and sums. FP32 is the reference of all.
FORMATS = {
    "fp32": ("FP32", "FP32", "FP32", "FP32"),
    "fp16": ("FP16", "FP16", "FP32", "FP32"),
    "bf16": ("BF16", "BF16", "FP32", "FP32"),
    "int8": ("INT8 per channel", "INT8, a scale for each channel", "INT8", "INT32"),
    "int8-tensor": ("INT8 per tensor", "INT8, a scale for each layer", "INT8", "INT32"),
    "int16": ("INT16", "INT8, a scale for each channel", "INT16", "INT64"),
}
CHOICES = {"all": tuple(FORMATS), "int8": ("fp32", "int8", "int8-tensor")}
# Linux's names of the instructions that multiply INT8 and add up in INT32.
INSTRUCTIONS = {"avx512_vnni": "AVX-512 VNNI", "avx_vnni": "AVX-VNNI", "amx_int8": "AMX-INT8"}
DIGITS: dict[str, Any] = {"when": {"network": "digits"}}


class QuantisationParams(Params):
    """The network, its formats, and how many images calibrate, evaluate and time it."""

    network: Literal["digits", "resnet"] = Field(
        "digits", description="digits: a small network, trained first; resnet: ResNet-50 with random weights, 64 pixels"
    )
    formats: Literal["all", "int8"] = Field("all", description="int8: only FP32 and INT8, per channel and per tensor")
    data: Data = "auto"
    steps: int = setting(300, "steps of training, 64 images each", DIGITS, ge=1, le=10_000)
    calibration: int = Field(100, ge=1, le=10_000, description="images that show the ranges of the activations")
    images: int = Field(500, ge=1, le=10_000, description=f"images to evaluate, at most; for resnet at most {MADE_UP}")
    batch: int = Field(16, ge=1, le=256, description="images that a rank computes at once")
    rounds: int = Field(7, ge=1, le=1000, description="rounds, in which the formats take turns")
    seed: int = setting(0, "seed of weights and images", ADVANCED, ge=0, le=2**31 - 1)


def _inputs(params: QuantisationParams, artifacts: Artifacts) -> Mapping[str, bytes]:
    """The images of digits, where the network reads digits. Raises BadInput."""
    from workshop.workloads.mnist.data import images

    return images.find(params.data) if params.network == "digits" else {}


def _fits(params: QuantisationParams, inputs: Mapping[str, bytes], ranks: int) -> None:
    """Refuse ranks without an image. Raises BadInput."""
    from workshop.workloads.mnist.data import images

    held_out = len(images.read(inputs).held_out_labels) if params.network == "digits" else MADE_UP
    if (count := min(params.images, held_out)) < ranks:
        raise BadInput(f"{ranks} ranks share {count} images, but each needs one; take more images or fewer ranks.")


WORKLOAD = Workload(
    name="quantisation",
    title="Number formats and INT8",
    summary="Converts a network to FP16, BF16, INT8 and INT16, and compares accuracy, size and images per second.",
    params=QuantisationParams,
    function="workshop.workloads.quantisation.run:run",
    inputs=_inputs,
    fits=_fits,
    trains=True,
    curves=(),
    results=("speed_up", "int8_accuracy", "fp32_accuracy", "overflow_share"),
    metrics={
        "calibration": "images for calibration", "data": "images from", "evaluated": "images evaluated",
        "fp32_accuracy": "accuracy with FP32", "int8_accuracy": "accuracy with INT8 per channel", "model": "network",
        "overflow_share": "sums of a layer that INT16 can't hold", "parameters": "weights of the network",
        "speed_up": "images/s with INT8 by images/s with FP32", "stopped": "stopped early",
    },
    order=260,
    star="formats",
    lab="memory",
    rules="workshop.workloads.quantisation",
    panels="workshop.workloads.quantisation.report:PANELS",
    presets=(
        Preset("Classroom", "INT8 takes a quarter of the bytes and costs little accuracy.", {}, {"ranks": 2}),
        Preset("One image for calibration", "The ranges of one image cut off what others need.",
               {"formats": "int8", "calibration": 1}, {"ranks": 2}),
        Preset("ResNet-50", "Look whether a larger network gains more from INT8.",
               {"network": "resnet", "formats": "int8", "batch": 4}, {"ranks": 2}),
    ),
)  # fmt: skip

EXTENSION = Extension(workloads=(WORKLOAD,))
