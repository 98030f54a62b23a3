"""What a step computes: the losses against their formulas written out, and the gradients of both nets."""

from __future__ import annotations

import numpy as np
import pytest
from mpi4py import MPI

from workshop.engine.tensorflow import tensorflow
from workshop.engine.training.exchange import Exchange
from workshop.workloads.sgan import step as steps
from workshop.workloads.sgan.models import LATENT, LATENT_DRAW, Discriminator, Noise, as_inputs, generator

SIZE, SEED = 28, 5
KNOWN, REAL = 4, 8  # images of a step


def test_losses_are_what_their_formulas_say() -> None:
    """Of eleven classes, the last of which is "generated" and has the logit 0 (Salimans et al., section 5)."""
    random = np.random.default_rng(2)
    real, made = random.normal(0, 2, (2, 6, 10)).astype(np.float32)
    labels = np.arange(6, dtype=np.int32)

    def of_eleven(logits):
        raised = np.exp(np.concatenate([logits, np.zeros((len(logits), 1))], axis=1))
        return raised / raised.sum(axis=1, keepdims=True)

    digits = np.exp(real) / np.exp(real).sum(axis=1, keepdims=True)
    says_made, says_real = of_eleven(made)[:, 10], 1 - of_eleven(real)[:, 10]
    expected = {
        "unsupervised": -np.log(says_real).mean() / 2 - np.log(says_made).mean() / 2,
        "deceiving": -np.log(1 - says_made).mean(),
        "entropy": -(digits * np.log(digits)).sum(axis=1).mean(),
        "cross entropy": -np.log(digits[np.arange(6), labels]).mean(),
    }
    found = {
        "unsupervised": steps.unsupervised(real, made),
        "deceiving": steps.deceiving(made),
        "entropy": steps.entropy(real),
        "cross entropy": steps.cross_entropy(labels, real),
    }
    assert {name: float(loss) for name, loss in found.items()} == pytest.approx(expected, rel=1e-4)
    # However sure the discriminator is, the generator's loss has a gradient.
    tf = tensorflow()
    sure = tf.constant(np.full((1, 10), -30, np.float32))
    with tf.GradientTape() as tape:
        tape.watch(sure)
        loss = steps.deceiving(sure)
    assert float(tf.reduce_sum(tape.gradient(loss, sure))) == pytest.approx(-1, abs=1e-3)


def test_both_nets_are_updated_at_once_from_the_weights_before() -> None:
    """Neither sees the other's new weights: what two ranks do doesn't depend on whose update comes first."""
    tf = tensorflow()
    tf.keras.utils.set_random_seed(3)
    classifier, maker = Discriminator(SIZE), generator(SIZE)
    ours, theirs = classifier.model.trainable_variables, maker.trainable_variables
    optimizers = [tf.keras.optimizers.SGD(1.0) for _ in range(2)]  # so that a change is the gradient
    for optimizer, variables in zip(optimizers, (ours, theirs), strict=True):
        optimizer.build(variables)
    random = np.random.default_rng(1)
    known, real = (random.integers(0, 256, (count, 28, 28)).astype(np.uint8) for count in (KNOWN, REAL))
    labels = np.arange(KNOWN, dtype=np.int32)
    number, first_known, first_real = numbers = (50, KNOWN, REAL)  # a quarter of the ramp; the second of two ranks
    before = [variable.numpy() for variable in [*ours, *theirs]]
    step = steps.adversarial(classifier, maker, optimizers, Exchange(MPI.COMM_SELF), SEED, SIZE)
    told = step(*map(tf.constant, (known, labels, real)), tf.constant(np.array(numbers)))
    changed = [old - variable.numpy() for old, variable in zip(before, [*ours, *theirs], strict=True)]
    for old, variable in zip(before, [*ours, *theirs], strict=True):
        variable.assign(old)

    def logits(made):
        noise = Noise(SEED, number, [(first_known, KNOWN), (first_real, REAL), (first_real, REAL)])
        images = tf.concat([as_inputs(known, SIZE), as_inputs(real, SIZE), made], axis=0)
        return tf.split(classifier(images, noise), [KNOWN, REAL, REAL])

    latent = Noise(SEED, number, [(first_real, REAL)]).normal(LATENT_DRAW, [LATENT])
    with tf.GradientTape() as tape:
        of_known, of_real, of_made = logits(tf.stop_gradient(maker(latent, training=True)))
        loss = steps.cross_entropy(labels, of_known) + steps.unsupervised(of_real, of_made)
        loss += 0.25 * steps.entropy(of_real)
    expected = tape.gradient(loss, [variable.value for variable in ours])
    with tf.GradientTape() as tape:
        generator_loss = steps.deceiving(logits(maker(latent, training=True))[2])
    expected += tape.gradient(generator_loss, [variable.value for variable in theirs])
    for change, gradient in zip(changed, expected, strict=True):
        np.testing.assert_allclose(change, gradient, rtol=1e-3, atol=2e-6)
    right = (np.argmax(of_known, axis=1) == labels).sum()
    np.testing.assert_allclose(told[2:], [float(loss), float(generator_loss), 1, right, KNOWN], rtol=1e-5)
