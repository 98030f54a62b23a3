"""Looks into quantised layers: the ranges and rounding errors of weights, and sums of products in narrow integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.processor import kernels
from workshop.workloads.quantisation import CHOICES, INSTRUCTIONS
from workshop.workloads.quantisation.formats import ConvertedNetwork, Pixels

CONVOLUTION, DENSE = "CONV_2D", "FULLY_CONNECTED"  # as TensorFlow Lite calls them
VISIBLE = 3 << 15  # three times the largest of INT16: a figure of such a sum shows each time that it wraps around
WIDTHS = {"INT32": np.int32, "INT16": np.int16, "INT8": np.int8}


class LayerTensors(NamedTuple):
    """A layer's weights [channels, terms] with their scales ([channels], [1], or [0] in FP32), and the inputs [n, ...]
    of its last call with their zero point."""

    weights: NDArray[Any]
    scales: NDArray[np.float32]
    inputs: NDArray[Any]
    zero_point: int


def layer(network: ConvertedNetwork, kind: str) -> LayerTensors:
    """The first layer of a kind; `network` lets look inside."""
    operation = next(each for each in network.reader._get_ops_details() if each["op_name"] == kind)
    inputs, weights = operation["inputs"][:2]
    about = {each["index"]: each["quantization_parameters"] for each in network.reader.get_tensor_details()}
    values = network.reader.get_tensor(weights)
    rows = values.reshape(len(values), -1)  # the output channel is the first axis
    zero_point = int(sum(about[inputs]["zero_points"]))  # activations have a single one, in FP32 none
    return LayerTensors(rows, about[weights]["scales"], network.reader.get_tensor(inputs), zero_point)


def ranges(files: Mapping[str, bytes]) -> dict[str, Any]:
    """The weights of the first convolution: the lowest and highest of each channel; and with INT8 per channel and per
    tensor, each channel's scale and its largest rounding error, which is at most half a scale."""
    layers = {name: layer(ConvertedNetwork(files[name], inside=True), CONVOLUTION) for name in CHOICES["int8"]}
    exact = layers.pop("fp32").weights
    channels: dict[str, Any] = {"low": exact.min(axis=1).tolist(), "high": exact.max(axis=1).tolist()}
    for name, quantised in layers.items():
        scales = np.broadcast_to(quantised.scales, len(exact))
        errors = np.abs(exact - scales[:, np.newaxis] * quantised.weights).max(axis=1)
        channels[name] = {"scales": scales.tolist(), "errors": errors.tolist()}
    return channels


def running_sums(products: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """The sum after each of the products [terms], added up in integers of each width, which wrap around as the
    processor's do."""
    return {name: np.cumsum(products.astype(kind), dtype=kind) for name, kind in WIDTHS.items()}


def overflow(file: bytes, images: Pixels) -> dict[str, Any]:
    """The sums of products that the first dense layer makes for a batch of images in INT8: the share of them that INT16
    can't hold, and the `running_sums` of the sum that is closest to `VISIBLE`, beside the exact sum."""
    network = ConvertedNetwork(file, inside=True)
    network(images)
    dense = layer(network, DENSE)
    weights = dense.weights.astype(np.int64)
    inputs = dense.inputs.reshape(-1, weights.shape[1]).astype(np.int64) - dense.zero_point
    sums = inputs @ weights.T
    image, channel = np.unravel_index(np.abs(np.abs(sums) - VISIBLE).argmin(), sums.shape)
    running = running_sums(inputs[image] * weights[channel])
    return {
        "share": float((sums != sums.astype(np.int16)).mean()),
        "exact": int(sums[image, channel]),
        "sums": {name: values.tolist() for name, values in running.items()},
    }


def instructions() -> list[str]:
    """The INT8 instructions of this rank's processor, by Linux's names; empty where it has none or doesn't tell."""
    flags = kernels.flags()
    return [name for name in INSTRUCTIONS if name in flags]
