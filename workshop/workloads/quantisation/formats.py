"""The number formats, and a network in each: converted and run by TensorFlow Lite, which comes with TensorFlow.

Its quantisation is post-training and linear, value = scale · (q − zero point): weights are symmetric (zero point 0, q
from -127 to 127), activations get their ranges from the calibration images (LiteRT 8-bit quantization specification).
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.engine.tensorflow import INTRA, tensorflow

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
