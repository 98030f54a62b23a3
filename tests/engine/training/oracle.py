"""Single-process training in NumPy on the union of the ranks' batches: an independent way to the same weights."""

from __future__ import annotations

import numpy as np

from tests.engine.training.ranks_program import BATCH, EPOCHS, RATE, SEED, count, examples
from workshop.engine.training.batches import Batches

PENALTY = 1e-3


def gradients(weights, inputs, labels):
    """The mean loss of a batch and its gradients by hand; penalty of the first layer's kernel included."""
    first, first_bias, second, second_bias = weights
    hidden = np.tanh(inputs @ first + first_bias)
    outputs = hidden @ second + second_bias
    raised = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    likely = raised / raised.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -np.log(likely[rows, labels]).mean()
    delta = likely.copy()
    delta[rows, labels] -= 1
    delta /= len(labels)
    back = (delta @ second.T) * (1 - hidden**2)
    return loss, [inputs.T @ back + 2 * PENALTY * first, back.sum(axis=0), hidden.T @ delta, delta.sum(axis=0)]


def train(weights, size, kind):
    """float64 weights and the loss of every step, from the same start, on batches that hold all ranks' examples."""
    inputs, labels = examples()
    inputs = inputs.astype(np.float64)
    weights = [np.array(weight, np.float64) for weight in weights]
    first, second = ([np.zeros_like(weight) for weight in weights] for _ in range(2))
    batches, losses, update = Batches(count(size), size, BATCH, SEED), [], 0
    for epoch in range(EPOCHS):
        orders = [batches.examples(rank)[batches.epoch(epoch, rank)] for rank in range(size)]
        for step in range(batches.steps):
            union = np.concatenate([order[step * BATCH : (step + 1) * BATCH] for order in orders])
            loss, grads = gradients(weights, inputs[union], labels[union])
            losses.append(loss)
            update += 1
            for number, grad in enumerate(grads):
                if kind == "SGD":
                    weights[number] -= RATE * grad
                else:  # Adam, Kingma and Ba, arXiv:1412.6980, as Keras has it
                    first[number] += (grad - first[number]) * (1 - 0.9)
                    second[number] += (grad**2 - second[number]) * (1 - 0.999)
                    rate = RATE * np.sqrt(1 - 0.999**update) / (1 - 0.9**update)
                    weights[number] -= rate * first[number] / (np.sqrt(second[number]) + 1e-7)
    return weights, losses
