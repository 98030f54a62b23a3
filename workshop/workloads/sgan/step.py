"""One compiled step of semi-supervised adversarial training: one forward pass for both nets' gradients, one exchange of
all gradients, both updates.

The formulas are those of Salimans et al., Improved techniques for training GANs, arXiv:1606.03498, section 5. The
discriminator has no output for "generated": subtracting a constant from all logits l(x) doesn't change the softmax, so
the eleventh logit can be fixed to 0. The probability that x is real is then D(x) = Z(x) / (Z(x) + 1) with Z(x) = sum of
exp l(x). So both heads share all layers and all weights, and each head learns from the other's images. A separate head
would share only the layers below it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workshop.engine.tensorflow import tensorflow
from workshop.engine.training.exchange import Exchange
from workshop.engine.training.loop import Step
from workshop.engine.training.step_report import SUMS, StepCurve
from workshop.workloads.sgan.models import LATENT, LATENT_DRAW, Discriminator, Noise, as_inputs

# Sums of a step: a rank's mean losses, steps (1 each), right answers and labelled images.
LOSS, GENERATOR_LOSS, STEPS, RIGHT, LABELLED = range(SUMS, SUMS + 5)
SUMS_COUNT = 5
Pause = Callable[[], float]  # called when a step's gradients are computed; returns when it ended [s since the epoch]
CURVES: Mapping[str, StepCurve] = {
    "loss": StepCurve(LOSS, STEPS),
    "accuracy": StepCurve(RIGHT, LABELLED),
    "generator loss": StepCurve(GENERATOR_LOSS, STEPS),
}
SUPERVISED_CURVES = {name: CURVES[name] for name in ("loss", "accuracy")}
ENTROPY = 1.0  # weight of the unlabelled images' entropy
RAMP = 200  # steps over which that grows to its full weight


def adversarial(
    discriminator: Discriminator,
    generator: Any,
    optimizers: Sequence[Any],
    exchange: Exchange,
    seed: int,
    size: int,
    pause: Pause | None = None,
) -> Step:
    """A function `(labelled images, labels, unlabelled images, numbers)` that trains both nets at once on what one rank
    reads: uint8 [n, 28, 28], int32 [n], uint8 [m, 28, 28], and int64 [3]: the step, and the numbers that the first
    labelled and the first unlabelled image have among all ranks' images (for `Noise`). `optimizers` are the
    discriminator's and the generator's; `pause` is called once the gradients are computed. It returns the two times of
    a `Step` and the five sums above.

    Losses are means over a rank's images; ranks read equally many, so the mean of their gradients is the gradient of
    the mean over all.
    """
    tf = tensorflow()
    ours, generator_variables = discriminator.model.trainable_variables, generator.trainable_variables

    def update(averaged: list[Any]) -> None:
        optimizers[0].apply(averaged[: len(ours)], ours)
        optimizers[1].apply(averaged[len(ours) :], generator_variables)

    def step(labelled: Any, labels: Any, unlabelled: Any, numbers: Any) -> Any:
        labelled_count, real = labelled.shape[0], unlabelled.shape[0]
        noise = Noise(seed, numbers[0], [(numbers[1], labelled_count), (numbers[2], real), (numbers[2], real)])
        latent = Noise(seed, numbers[0], [(numbers[2], real)]).normal(LATENT_DRAW, [LATENT])
        with tf.GradientTape(persistent=True) as tape:
            generated = generator(latent, training=True)
            images = tf.concat([as_inputs(labelled, size), as_inputs(unlabelled, size), generated], axis=0)
            of_known, of_real, of_made = tf.split(discriminator(images, noise), [labelled_count, real, real])
            weight = ENTROPY * tf.minimum(tf.cast(numbers[0], tf.float32) / RAMP, 1)
            loss = cross_entropy(labels, of_known) + unsupervised(of_real, of_made) + weight * entropy(of_real)
            generator_loss = deceiving(of_made)
        gradients = tape.gradient(loss, [variable.value for variable in ours])
        gradients += tape.gradient(generator_loss, [variable.value for variable in generator_variables])
        times = exchange.apply(_after(pause, gradients), [*ours, *generator_variables], update)
        return _step_sums(times, loss, labels, of_known, generator_loss)

    return _compiled(step)


def supervised(
    discriminator: Discriminator,
    optimizers: Sequence[Any],
    exchange: Exchange,
    seed: int,
    size: int,
    pause: Pause | None = None,
) -> Step:
    """The same for the classifier alone on the labelled images alone: `(labelled images, labels, numbers)`."""
    tf = tensorflow()
    (optimizer,) = optimizers
    variables = discriminator.model.trainable_variables

    def step(labelled: Any, labels: Any, numbers: Any) -> Any:
        with tf.GradientTape() as tape:
            noise = Noise(seed, numbers[0], [(numbers[1], labelled.shape[0])])
            logits = discriminator(as_inputs(labelled, size), noise)
            loss = cross_entropy(labels, logits)
        gradients = tape.gradient(loss, [variable.value for variable in variables])
        times = exchange.apply(
            _after(pause, gradients), variables, lambda averaged: optimizer.apply(averaged, variables)
        )
        return _step_sums(times, loss, labels, logits)

    return _compiled(step)


def _after(pause: Pause | None, gradients: Sequence[Any]) -> list[Any]:
    """The gradients, once they are computed and `pause` has returned."""
    if pause is None:
        return list(gradients)
    tf = tensorflow()
    with tf.control_dependencies([gradient for gradient in gradients if gradient is not None]):
        over = tf.numpy_function(pause, [], tf.float64)
    with tf.control_dependencies([over]):
        return [None if gradient is None else tf.identity(gradient) for gradient in gradients]


def cross_entropy(labels: Any, logits: Any) -> Any:
    """The supervised loss, - log softmax(l)[label], averaged over the images."""
    tf = tensorflow()
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))


def unsupervised(real: Any, generated: Any) -> Any:
    """- log D of real images and - log (1 - D) of generated ones, from their logits, each averaged, then their mean.

    With z = log Z, the logsumexp of the logits, - log D = softplus(-z) and - log (1 - D) = softplus(z).
    """
    tf = tensorflow()
    real, generated = tf.reduce_logsumexp(real, axis=1), tf.reduce_logsumexp(generated, axis=1)
    return (tf.reduce_mean(tf.nn.softplus(-real)) + tf.reduce_mean(tf.nn.softplus(generated))) / 2


def entropy(logits: Any) -> Any:
    """The entropy of the digits that unlabelled images may be, averaged: the less of it, the farther they are from
    where the classifier decides (Grandvalet and Bengio, Semi-supervised learning by entropy minimization, NIPS 2004;
    for GANs Dai et al., Good semi-supervised learning that requires a bad GAN, arXiv:1705.09783)."""
    tf = tensorflow()
    return -tf.reduce_mean(tf.reduce_sum(tf.nn.softmax(logits) * tf.nn.log_softmax(logits), axis=1))


def deceiving(generated: Any) -> Any:
    """The generator's loss, - log D of generated images, averaged (Goodfellow et al., Generative adversarial nets,
    arXiv:1406.2661, section 3: the one whose gradient doesn't vanish where the discriminator is sure).

    Salimans et al. match the mean features of real and of generated images instead. That is no mean over images: the
    ranks' gradients of it would not add up to the gradient over all images, unless the features' means were exchanged
    first. This one does, and the classifier is as good with it.
    """
    tf = tensorflow()
    return tf.reduce_mean(tf.nn.softplus(-tf.reduce_logsumexp(generated, axis=1)))


def _step_sums(times: tuple[Any, Any], loss: Any, labels: Any, logits: Any, generator_loss: Any = 0.0) -> Any:
    """The returned tensor of a step: times and sums."""
    tf = tensorflow()
    right = tf.equal(tf.argmax(logits, axis=-1, output_type=labels.dtype), labels)
    sums = (loss, generator_loss, 1.0, tf.reduce_sum(tf.cast(right, tf.float64)), labels.shape[0])
    return tf.stack([*times, *(tf.cast(total, tf.float64) for total in sums)])


def _compiled(step: Any) -> Step:
    compiled = tensorflow().function(step, autograph=False)
    return lambda *tensors: compiled(*tensors).numpy()
