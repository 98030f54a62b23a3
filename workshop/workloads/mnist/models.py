"""The networks: two small ones by name, or a Keras model of the user's own."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workshop.engine.tensorflow import tensorflow
from workshop.engine.training.step import PerExample
from workshop.errors import BadInput

SHAPE, CLASSES = (28, 28, 1), 10
RATES = {"momentum": 0.02, "sgd": 0.02, "adam": 0.001}  # for a batch of 64


def build(name: str, inputs: Mapping[str, bytes]) -> Any:
    """A Keras model for images [n, 28, 28, 1] from 0 to 1 that gives ten numbers each. Raises BadInput for a file that
    holds another kind of model."""
    keras = tensorflow().keras
    layers = keras.layers
    if "model.keras" in inputs:
        return _check(_load(inputs["model.keras"]))
    if name == "dense":
        inner = [layers.Flatten(), layers.Dense(128, activation="relu")]
    else:
        inner = [
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
        ]
    return keras.Sequential([layers.Input(SHAPE), *inner, layers.Dense(CLASSES)])


def _load(data: bytes) -> Any:
    keras = tensorflow().keras
    with tempfile.TemporaryDirectory(prefix="workshop-") as folder:
        path = Path(folder) / "model.keras"
        path.write_bytes(data)
        try:
            # Safe mode refuses models that bring code of their own.
            return keras.models.load_model(path, compile=False, safe_mode=True)
        except Exception as error:  # whatever Keras says of a file that it can't use
            words = " ".join(str(error).split())[:200]
            raise BadInput(f"The model's file can't be loaded by Keras: {words}") from error


def _check(model: Any) -> Any:
    given, made = tuple(model.input_shape[1:]), tuple(model.output_shape[1:])
    if given != SHAPE or made != (CLASSES,):
        raise BadInput(
            f"The model takes {given} and gives {made}; it should take images of {SHAPE} and give {CLASSES} numbers."
        )
    return model


def loss_of(model: Any) -> PerExample:
    """Cross entropy of each example, for models that end in a softmax and for those that give logits."""
    tf = tensorflow()
    last = getattr(model.layers[-1], "activation", None)
    if getattr(last, "__name__", "") == "softmax":
        return lambda labels, outputs: tf.keras.losses.sparse_categorical_crossentropy(labels, outputs)
    return lambda labels, outputs: tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs)


def correct(labels: Any, outputs: Any) -> Any:
    """Whether the largest output is the label's."""
    tf = tensorflow()
    return tf.equal(tf.argmax(outputs, axis=-1, output_type=labels.dtype), labels)


def optimizer_of(name: str, rate: float) -> Any:
    optimizers = tensorflow().keras.optimizers
    if name == "adam":
        return optimizers.Adam(rate)
    return optimizers.SGD(rate, momentum=0.9 if name == "momentum" else 0.0)
