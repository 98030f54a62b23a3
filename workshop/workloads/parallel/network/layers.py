"""Layers with their forward and backward computation written out.

A layer keeps no activations. `forward` returns its output and what `backward` needs of it, so several micro-batches can
be under way at the same time, and an activation that is recomputed is dropped by dropping what was returned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]
Saved = Any  # what a layer's backward needs of its forward

EPSILON = 1e-5  # of layer normalisation
MASKED = -1e4  # score of a position that attention may not see; float16 holds it
GELU = math.sqrt(2 / math.pi)


class Parameter:
    """A weight array and its gradient, which backward adds to."""

    def __init__(self, name: str, value: Array) -> None:
        self.name = name
        self.value = value
        self.gradient = np.zeros_like(value)

    def __repr__(self) -> str:
        return f"{self.name} {list(self.value.shape)}"


class Layer(Protocol):
    """A layer or a network of layers."""

    @property
    def parameters(self) -> Sequence[Parameter]: ...

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        """The outputs, and what `backward` needs."""

    def backward(self, gradient: Array, saved: Saved) -> Array:
        """The gradient of the inputs from that of the outputs; adds to the parameters' gradients."""


@dataclass(frozen=True)
class Draw:
    """Draws initial weights. Every parameter has a stream of its own, so a rank that holds a part of a network, or a
    slice of a parameter, draws what one process would have drawn for it."""

    seed: int
    dtype: DTypeLike = np.float64

    def normal(self, name: str, shape: Sequence[int], scale: float) -> Parameter:
        key = [self.seed, *name.encode()]
        return Parameter(name, (scale * np.random.default_rng(key).standard_normal(shape)).astype(self.dtype))

    def constant(self, name: str, shape: Sequence[int], value: float = 0.0) -> Parameter:
        return Parameter(name, np.full(shape, value, self.dtype))


class Linear:
    """outputs = inputs W + b, for inputs [..., in] and outputs [..., out]."""

    def __init__(self, weight: Parameter, bias: Parameter | None) -> None:
        self.weight, self.bias = weight, bias

    @property
    def parameters(self) -> Sequence[Parameter]:
        return [self.weight] if self.bias is None else [self.weight, self.bias]

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        outputs = inputs @ self.weight.value
        return (outputs if self.bias is None else outputs + self.bias.value), inputs

    def backward(self, gradient: Array, saved: Saved) -> Array:
        flat_inputs, flat_gradient = saved.reshape(-1, saved.shape[-1]), gradient.reshape(-1, gradient.shape[-1])
        self.weight.gradient += flat_inputs.T @ flat_gradient
        if self.bias is not None:
            self.bias.gradient += flat_gradient.sum(axis=0)
        return gradient @ self.weight.value.T


class Gelu:
    """The Gaussian error linear unit in its tanh form (Hendrycks and Gimpel, arXiv:1606.08415, section 2)."""

    parameters: Sequence[Parameter] = ()

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        tangent = np.tanh(GELU * (inputs + 0.044715 * inputs**3))
        return 0.5 * inputs * (1 + tangent), (inputs, tangent)

    def backward(self, gradient: Array, saved: Saved) -> Array:
        inputs, tangent = saved
        slope = GELU * (1 + 3 * 0.044715 * inputs**2) * (1 - tangent**2)
        return gradient * (0.5 * (1 + tangent) + 0.5 * inputs * slope)


class Relu:
    """max(inputs, 0)."""

    parameters: Sequence[Parameter] = ()

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        positive = inputs > 0
        return inputs * positive, positive

    def backward(self, gradient: Array, saved: Saved) -> Array:
        return gradient * saved


class LayerNorm:
    """Normalise the last axis to mean 0 and variance 1, then scale and shift (Ba et al., arXiv:1607.06450)."""

    def __init__(self, gain: Parameter, bias: Parameter) -> None:
        self.gain, self.bias = gain, bias

    @property
    def parameters(self) -> Sequence[Parameter]:
        return [self.gain, self.bias]

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        centred = inputs - inputs.mean(axis=-1, keepdims=True)
        scale = 1 / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
        normal = centred * scale
        return normal * self.gain.value + self.bias.value, (normal, scale)

    def backward(self, gradient: Array, saved: Saved) -> Array:
        normal, scale = saved
        axes = tuple(range(gradient.ndim - 1))
        self.gain.gradient += (gradient * normal).sum(axis=axes)
        self.bias.gradient += gradient.sum(axis=axes)
        inner = gradient * self.gain.value
        mean = inner.mean(axis=-1, keepdims=True)
        projection = (inner * normal).mean(axis=-1, keepdims=True)
        return (inner - mean - normal * projection) * scale


class Embedding:
    """Rows of a table for tokens [batch, length], plus a row for each position."""

    def __init__(self, tokens: Parameter, positions: Parameter) -> None:
        self.tokens, self.positions = tokens, positions

    @property
    def parameters(self) -> Sequence[Parameter]:
        return [self.tokens, self.positions]

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        return self.tokens.value[inputs] + self.positions.value[: inputs.shape[1]], inputs

    def backward(self, gradient: Array, saved: Saved) -> Array:
        np.add.at(self.tokens.gradient, saved, gradient)
        self.positions.gradient[: saved.shape[1]] += gradient.sum(axis=0)
        return np.zeros(saved.shape, gradient.dtype)  # tokens have no gradient


class Attention:
    """Causal self-attention of several heads (Vaswani et al., arXiv:1706.03762, section 3.2), for inputs
    [batch, length, width]. `inner` makes queries, keys and values [3, heads, width of a head] of each position;
    `outer` brings the heads' results together. A rank may hold some of the heads only."""

    def __init__(self, inner: Layer, outer: Layer, heads: int) -> None:
        self.inner, self.outer, self.heads = inner, outer, heads

    @property
    def parameters(self) -> Sequence[Parameter]:
        return [*self.inner.parameters, *self.outer.parameters]

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        mixed, inner_saved = self.inner.forward(inputs)
        batch, length = inputs.shape[:2]
        # [3, batch, heads, length, width of a head]
        parts = mixed.reshape(batch, length, self.heads, 3, -1).transpose(3, 0, 2, 1, 4)
        queries, keys, values = parts
        scores = queries @ keys.swapaxes(-1, -2) / math.sqrt(queries.shape[-1])
        scores = np.where(np.tri(length, dtype=bool), scores, scores.dtype.type(MASKED))
        weights = softmax(scores)
        joined = (weights @ values).transpose(0, 2, 1, 3).reshape(batch, length, -1)
        outputs, outer_saved = self.outer.forward(joined)
        return outputs, (inner_saved, outer_saved, parts, weights)

    def backward(self, gradient: Array, saved: Saved) -> Array:
        inner_saved, outer_saved, (queries, keys, values), weights = saved
        batch, heads, length, width = queries.shape
        joined = self.outer.backward(gradient, outer_saved)
        of_heads = joined.reshape(batch, length, heads, width).transpose(0, 2, 1, 3)
        of_values = weights.swapaxes(-1, -2) @ of_heads
        of_weights = of_heads @ values.swapaxes(-1, -2)
        of_scores = weights * (of_weights - (of_weights * weights).sum(axis=-1, keepdims=True)) / math.sqrt(width)
        parts = np.stack([of_scores @ keys, of_scores.swapaxes(-1, -2) @ queries, of_values])
        return self.inner.backward(parts.transpose(1, 3, 2, 0, 4).reshape(batch, length, -1), inner_saved)


class Convolution:
    """A 3 x 3 convolution with stride 1, for inputs [batch, height, width, channels]. Rows beyond the image are zeros;
    with `halo` the inputs have a row more above and below, which a neighbour has sent."""

    def __init__(self, weight: Parameter, bias: Parameter, halo: bool = False) -> None:
        self.weight, self.bias, self.halo = weight, bias, halo  # weight [3, 3, in, out]

    @property
    def parameters(self) -> Sequence[Parameter]:
        return [self.weight, self.bias]

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        rows = (0, 0) if self.halo else (1, 1)
        padded = np.pad(inputs, ((0, 0), rows, (1, 1), (0, 0)))
        # [batch, height, width, channels, 3, 3] -> the nine neighbours of each pixel
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
        outputs = np.einsum("bhwcij,ijco->bhwo", windows, self.weight.value, optimize=True)
        return outputs + self.bias.value, padded

    def backward(self, gradient: Array, saved: Saved) -> Array:
        windows = np.lib.stride_tricks.sliding_window_view(saved, (3, 3), axis=(1, 2))
        self.weight.gradient += np.einsum("bhwcij,bhwo->ijco", windows, gradient, optimize=True)
        self.bias.gradient += gradient.sum(axis=(0, 1, 2))
        of_padded = np.zeros_like(saved)
        height, width = gradient.shape[1:3]
        for row in range(3):
            for column in range(3):
                part = of_padded[:, row : row + height, column : column + width]
                part += gradient @ self.weight.value[row, column].T
        return of_padded[:, :, 1:-1] if self.halo else of_padded[:, 1:-1, 1:-1]


class MeanPixels:
    """The mean over height and width: [batch, height, width, channels] -> [batch, channels]."""

    parameters: Sequence[Parameter] = ()

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        return inputs.mean(axis=(1, 2)), inputs.shape

    def backward(self, gradient: Array, saved: Saved) -> Array:
        return np.broadcast_to(gradient[:, None, None] / (saved[1] * saved[2]), saved).copy()


class Residual:
    """inputs + layers(inputs) (He et al., arXiv:1512.03385)."""

    def __init__(self, *layers: Layer) -> None:
        self.inside = Sequential(layers)

    @property
    def parameters(self) -> Sequence[Parameter]:
        return self.inside.parameters

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        outputs, saved = self.inside.forward(inputs)
        return inputs + outputs, saved

    def backward(self, gradient: Array, saved: Saved) -> Array:
        return gradient + self.inside.backward(gradient, saved)


class Sequential:
    """Layers, one after the other."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self.layers = layers

    @property
    def parameters(self) -> Sequence[Parameter]:
        return [parameter for layer in self.layers for parameter in layer.parameters]

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        all_saved = []
        for layer in self.layers:
            inputs, saved = layer.forward(inputs)
            all_saved.append(saved)
        return inputs, all_saved

    def backward(self, gradient: Array, saved: Saved) -> Array:
        for layer, layer_saved in zip(reversed(self.layers), reversed(saved), strict=True):
            gradient = layer.backward(gradient, layer_saved)
        return gradient


def softmax(scores: Array) -> Array:
    """Probabilities along the last axis."""
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def cross_entropy(scores: Array, targets: Array, count: int) -> tuple[float, Array]:
    """The sum of the losses -log p(target) divided by `count`, and its gradient. Scores [..., classes], targets [...];
    `count`: how many targets there are on all ranks and micro-batches, so that parts add up to the mean of all."""
    flat, rows = scores.reshape(-1, scores.shape[-1]), np.arange(targets.size)
    probabilities = softmax(flat)
    # The smallest positive number keeps log finite where a probability has become 0.
    tiny = np.finfo(flat.dtype).tiny
    loss = -float(np.log(np.maximum(probabilities[rows, targets.ravel()], tiny)).sum()) / count
    gradient = probabilities
    gradient[rows, targets.ravel()] -= 1
    return loss, (gradient / count).reshape(scores.shape).astype(scores.dtype)
