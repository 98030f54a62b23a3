"""The networks: two small ones by name, or a Keras model of the user's own."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workshop.core.errors import BadInput
from workshop.engine.tensorflow import tensorflow
from workshop.engine.training.step import PerExample

SHAPE, CLASSES = (28, 28, 1), 10
MOST_WORDS = 200  # characters of Keras's own words
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
            words = " ".join(str(error).split())
            if "Lambda" in words:
                words = "it brings code of its own in a Lambda layer, which isn't run"
            elif len(words) > MOST_WORDS:
                words = f"{words[:MOST_WORDS].rstrip('.')} …"
            raise BadInput(f"The model's file can't be loaded by Keras: {words}") from error


def _check(model: Any) -> Any:
    right = f"it should take images of {SHAPE} and give {CLASSES} numbers for each"
    try:
        input_shapes = [tuple(tensor.shape[1:]) for tensor in model.inputs]
        output_shapes = [tuple(tensor.shape[1:]) for tensor in model.outputs]
    except (AttributeError, TypeError, ValueError):
        raise BadInput(f"The model doesn't say what it takes; {right}: begin it with Input({SHAPE}).") from None
    if input_shapes != [SHAPE] or output_shapes != [(CLASSES,)]:
        inputs, outputs = (" and ".join(map(str, shapes)) for shapes in (input_shapes, output_shapes))
        raise BadInput(f"The model takes {inputs} and gives {outputs}; {right}.")
    if not model.trainable_variables:
        raise BadInput("The model has no weights that can be trained; give one that has.")
    return model


def loss_of(model: Any) -> PerExample:
    """Each example's cross entropy, for models with a softmax at the end and for models that give logits."""
    tf = tensorflow()
    last = model.outputs[0]._keras_history.operation
    softmax = (
        isinstance(last, tf.keras.layers.Softmax) or getattr(last, "activation", None) is tf.keras.activations.softmax
    )
    if softmax:
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
