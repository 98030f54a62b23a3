"""The number formats, and a network in each: converted and run by TensorFlow Lite, which comes with TensorFlow.

Its quantisation is post-training and linear, value = scale · (q − zero point): weights are symmetric (zero point 0, q
from -127 to 127), activations get their ranges from the calibration images (LiteRT 8-bit quantization specification).

Looks into quantised layers: the ranges and rounding errors of weights, and sums of products in narrow integers.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workshop.engine.tensorflow import INTRA, tensorflow
from workshop.workloads.processor import kernels
from workshop.workloads.quantisation import CHOICES, INSTRUCTIONS

Pixels = NDArray[np.float32]  # [n, height, width, channels]


def convert(name: str, model: Any, batch: int, calibration: Pixels) -> bytes:
    """The file of a Keras model in a format of `FORMATS`, for `batch` images at once.

    TensorFlow Lite has no BF16: that file is FP32, with weights that are rounded to the nearest BF16.
    """
    tf = tensorflow()
    weights = model.get_weights()
    with tempfile.TemporaryDirectory(prefix="workshop-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # inputs and outputs stay FP32, so they need no ranges of their own
        if name == "bf16":
            narrow = tf.bfloat16.as_numpy_dtype
            model.set_weights([values.astype(narrow).astype(np.float32) for values in weights])
        signature = [tf.TensorSpec((batch, *model.input_shape[1:]), tf.float32)]
        model.export(folder, verbose=False, input_signature=signature)
        model.set_weights(weights)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder)
        converter.optimizations = [] if name in ("fp32", "bf16") else [tf.lite.Optimize.DEFAULT]
        if name == "fp16":
            converter.target_spec.supported_types = [tf.float16]
        elif name.startswith("int"):
            sets = tf.lite.OpsSet
            mixed = sets.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
            converter.target_spec.supported_ops = [mixed if name == "int16" else sets.TFLITE_BUILTINS_INT8]
            converter.representative_dataset = lambda: ([images] for images, _ in batches(calibration, batch))
            converter._experimental_disable_per_channel = name == "int8-tensor"
        return bytes(converter.convert())


def batches(images: Pixels, batch: int) -> Iterator[tuple[Pixels, int]]:
    """Yield `batch` images at a time, and how many of them are new: the last batch is filled up with the first
    images."""
    for begin in range(0, len(images), batch):
        new = min(batch, len(images) - begin)
        yield images[np.arange(begin, begin + batch) % len(images)], new


class ConvertedNetwork:
    """A network in one format, on the rank's threads. A call takes a `batch` of images and returns float32 outputs
    [batch, classes]. `inside`: all tensors of the `reader` can be read after a call, for which the fast kernels
    (XNNPACK) are left out."""

    def __init__(self, content: bytes, inside: bool = False) -> None:
        lite = tensorflow().lite
        resolvers = lite.experimental.OpResolverType
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a later TensorFlow has the interpreter in a package of its own
            self.reader = lite.Interpreter(
                model_content=content,
                num_threads=int(os.environ.get(INTRA) or 1),
                experimental_preserve_all_tensors=inside,
                experimental_op_resolver_type=resolvers.BUILTIN_WITHOUT_DEFAULT_DELEGATES if inside else resolvers.AUTO,
            )
        self.reader.allocate_tensors()
        (entry,), (end,) = self.reader.get_input_details(), self.reader.get_output_details()
        self.batch, self._input, self._output = int(entry["shape"][0]), entry["index"], end["index"]

    def __call__(self, images: Pixels) -> NDArray[np.float32]:
        self.reader.set_tensor(self._input, images)
        self.reader.invoke()
        return self.reader.get_tensor(self._output)


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
