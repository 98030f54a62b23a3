"""Gradient descent of the dense network in NumPy, float64: an independent way to the same weights."""

from __future__ import annotations

import numpy as np

SHAPES = ((784, 128), (128,), (128, 10), (10,))


def unpacked(vector):
    """The network's kernels and biases from a flat vector."""
    ends = np.cumsum([np.prod(shape) for shape in SHAPES])
    parts = np.split(np.asarray(vector, np.float64), ends[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, SHAPES, strict=True)]


def flat(weights):
    return np.concatenate([np.ravel(weight) for weight in weights])


def gradient(vector, pictures, labels):
    """Of the mean cross entropy over images [n, 28, 28, 1], as a flat vector."""
    first, first_bias, second, second_bias = unpacked(vector)
    inputs = pictures.reshape(len(pictures), -1).astype(np.float64)
    before = inputs @ first + first_bias
    hidden = np.maximum(before, 0)
    outputs = hidden @ second + second_bias
    raised = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    delta = raised / raised.sum(axis=1, keepdims=True)
    delta[np.arange(len(labels)), labels] -= 1
    delta /= len(labels)
    back = (delta @ second.T) * (before > 0)
    return flat([inputs.T @ back, back.sum(axis=0), hidden.T @ delta, delta.sum(axis=0)])
