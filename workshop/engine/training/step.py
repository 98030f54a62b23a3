"""One step of supervised training, compiled: forward, backward, exchange, update."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workshop.engine.tensorflow import tensorflow
from workshop.engine.training.exchange import Exchange, Update
from workshop.engine.training.loop import Step

PerExample = Callable[[Any, Any], Any]  # (labels [n], outputs [n, ...]) -> tensor [n]


def supervised(
    model: Any, optimizer: Any, loss: PerExample, correct: PerExample, exchange: Exchange, uneven: bool = True
) -> Step:
    """A function `(inputs, labels, factor)` that trains on one batch of this rank. The first two calls compile it;
    `uneven` says whether there will be batches of other sizes than the first one.

    The gradient is that of the sum of the examples' losses times `factor`; with `factor = ranks / examples of all
    ranks`, the mean over the ranks is the gradient of the mean over all examples, whatever each batch's size. It
    returns float64 [4]: when the gradients were there and when they had been exchanged, in seconds since the epoch, the
    sum of the losses, and how many examples were right (`step_report.SUPERVISED`).
    """
    tf = tensorflow()
    variables = model.trainable_variables

    def step(inputs: Any, labels: Any, factor: Any) -> Any:
        with tf.GradientTape() as tape:
            outputs = model(inputs, training=True)
            total = tf.reduce_sum(loss(labels, outputs))
            objective = total * tf.cast(factor, total.dtype)
            for penalty in model.losses:
                objective += penalty
        gradients = tape.gradient(objective, [variable.value for variable in variables])
        times = exchanged(exchange, gradients, variables, lambda averaged: optimizer.apply(averaged, variables))
        right = tf.reduce_sum(tf.cast(correct(labels, outputs), tf.float64))
        return tf.stack([*times, tf.cast(total, tf.float64), right])

    compiled = _for_full_batches(tf, step, uneven)
    return lambda inputs, labels, factor: compiled(inputs, labels, tf.constant(factor, tf.float32)).numpy()


def exchanged(
    exchange: Exchange, gradients: Sequence[Any], variables: Sequence[Any], update: Update
) -> tuple[Any, Any]:
    """The end of a step: exchange all its gradients at once and have `update` change the variables. Returns two scalar
    tensors, float64: when the gradients were there and when they had been exchanged, in seconds since the epoch."""
    tf = tensorflow()
    with tf.control_dependencies([gradient for gradient in gradients if gradient is not None]):
        pause = exchange.pause
        computed_at = tf.timestamp() if pause is None else tf.ensure_shape(tf.numpy_function(pause, [], tf.float64), [])
    with tf.control_dependencies([computed_at]):
        exchanged_at = exchange.apply(gradients, variables, update)
    return computed_at, exchanged_at


def _for_full_batches(tf: Any, function: Callable[..., Any], uneven: bool) -> Callable[..., Any]:
    """Compile a function for batches of the first one's size, which saves 4 % of a step against any size. Where batches
    are uneven, the second call compiles it again for all other sizes, so that no later step is slow."""
    exact, general = tf.function(function, autograph=False), _for_any_batch(tf, function)
    calls, size = 0, None

    def call(inputs: Any, *others: Any) -> Any:
        nonlocal calls, size
        calls += 1
        size = inputs.shape[0] if size is None else size
        if inputs.shape[0] != size or (calls == 2 and uneven):
            return general(inputs, *others)
        return exact(inputs, *others)

    return call


def _for_any_batch(tf: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function once for batches of any size: the smaller last one of an epoch would compile it again."""
    compiled: list[Any] = []

    def call(*tensors: Any) -> Any:
        if not compiled:
            shapes = [[None, *tensor.shape[1:]] if tensor.shape.rank else [] for tensor in tensors]
            signature = [tf.TensorSpec(shape, tensor.dtype) for shape, tensor in zip(shapes, tensors, strict=True)]
            compiled.append(tf.function(function, input_signature=signature, autograph=False))
        return compiled[0](*tensors)

    return call


def evaluation(model: Any, loss: PerExample) -> Callable[[Any, Any], tuple[Any, Any]]:
    """A function `(inputs, labels)` that returns the losses [n] and outputs [n, ...] without training."""
    tf = tensorflow()

    def evaluate(inputs: Any, labels: Any) -> tuple[Any, Any]:
        outputs = model(inputs, training=False)
        return loss(labels, outputs), outputs

    compiled = _for_any_batch(tf, evaluate)

    def call(inputs: Any, labels: Any) -> tuple[Any, Any]:
        losses, outputs = compiled(tf.constant(inputs), tf.constant(labels))
        return losses.numpy(), outputs.numpy()

    return call
