"""Layers with their forward and backward computation written out.

A layer keeps no activations. `forward` returns its output and the arrays that `backward` needs, so several
micro-batches can be under way at the same time, and an activation that is recomputed is dropped by dropping what
`forward` returned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from workshop.workloads.parallel.communicator import Exchanges

Array = NDArray[Any]
Saved = Any  # the arrays of a forward computation that the backward computation needs
Shape = tuple[int, ...]

EPSILON = 1e-5  # of layer normalisation
MASKED = -1e4  # score of a position that attention may not see; float16 holds it
GELU = math.sqrt(2 / math.pi)
INDEX = 8  # bytes of a token


class Parameter:
    """A weight array and its gradient. `axis`: along which a rank has a slice of it; None where it has the whole.
    `partial`: each rank of a group that divides a layer computes a part of the gradient, and the parts are added up.
    While `pending` is a list, the work for a gradient is put into it, to be done later."""

    def __init__(self, name: str, value: Array, axis: int | None = None) -> None:
        self.name = name
        self.value = value
        self.axis = axis
        self.partial = False
        self.shape: Shape = value.shape
        self.dtype = value.dtype
        self.pending: list[Callable[[], None]] | None = None
        self._gradient: Array | None = None

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def gradient(self) -> Array:
        """Zeros until something is added."""
        if self._gradient is None:
            self._gradient = np.zeros(self.shape, self.dtype)
        return self._gradient

    @gradient.setter
    def gradient(self, array: Array | None) -> None:
        self._gradient = array

    def add(self, compute: Callable[[], Array]) -> None:
        """Add what `compute` returns to the gradient: now, or when the pending work is done."""

        def work() -> None:
            self.gradient[...] += compute()

        if self.pending is None:
            work()
        else:
            self.pending.append(work)

    def slice(self, number: int, count: int, axis: int) -> Parameter:
        """The slice of this number, of `count`, along an axis. The caller has checked that it can be divided."""
        size = self.shape[axis] // count
        index = [slice(None)] * len(self.shape)
        index[axis] = slice(number * size, (number + 1) * size)
        part = self.value[tuple(index)]
        # An array of a plan has no memory, and should get none.
        return Parameter(self.name, part if 0 in part.strides else part.copy(), axis % len(self.shape))

    def __repr__(self) -> str:
        return f"{self.name} {list(self.shape)}"


@dataclass(frozen=True)
class Cost:
    """The cost of a layer for one micro-batch: the shape of its outputs, the bytes that it keeps for the backward
    computation, the bytes that it needs only while it computes, its multiplications (twice as many come in the backward
    computation), and its traffic."""

    outputs: Shape
    activations: int = 0
    transient: int = 0
    operations: int = 0
    forward: Exchanges = field(default_factory=Exchanges)
    backward: Exchanges = field(default_factory=Exchanges)

    def join(self, after: Cost) -> Cost:
        """The cost of a layer and of the one behind it."""
        return Cost(
            after.outputs,
            self.activations + after.activations,
            max(self.transient, after.transient),
            self.operations + after.operations,
            self.forward + after.forward,
            self.backward + after.backward,
        )


class Layer:
    """A layer or a network of layers."""

    @property
    def parameters(self) -> Sequence[Parameter]:
        """The parameters among the attributes, and those of the layers among them, in the order of the attributes."""
        return list(_parameters(vars(self).values()))

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        """The outputs, and the arrays that `backward` needs."""
        raise NotImplementedError

    def backward(self, gradient: Array, saved: Saved) -> Array:
        """The gradient of the inputs from that of the outputs; adds to the parameters' gradients."""
        raise NotImplementedError

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        """The cost for inputs of this shape, with numbers of so many bytes."""
        raise NotImplementedError


def _parameters(values: Iterable[object]) -> Iterator[Parameter]:
    for value in values:
        if isinstance(value, Parameter):
            yield value
        elif isinstance(value, Layer):
            yield from value.parameters
        elif isinstance(value, list | tuple):
            yield from _parameters(value)


@dataclass(frozen=True)
class Draw:
    """Draws initial weights. Every parameter has a stream of its own, so a rank that holds a part of a network, or a
    slice of a parameter, draws what one process would have drawn for it. A `plan` has shapes and no memory."""

    seed: int
    dtype: DTypeLike = np.float64
    plan: bool = False

    def normal(self, name: str, shape: Sequence[int], scale: float) -> Parameter:
        if self.plan:
            return self.constant(name, shape)
        key = [self.seed, *name.encode()]
        return Parameter(name, (scale * np.random.default_rng(key).standard_normal(shape)).astype(self.dtype))

    def constant(self, name: str, shape: Sequence[int], value: float = 0.0) -> Parameter:
        if self.plan:
            return Parameter(name, np.broadcast_to(np.zeros((), self.dtype), shape))
        return Parameter(name, np.full(shape, value, self.dtype))


class Linear(Layer):
    """outputs = inputs W + b, for inputs [..., in] and outputs [..., out]."""

    def __init__(self, weight: Parameter, bias: Parameter | None) -> None:
        self.weight, self.bias = weight, bias

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        outputs = inputs @ self.weight.value
        if self.bias is not None:
            outputs += self.bias.value
        return outputs, inputs

    def backward(self, gradient: Array, saved: Saved) -> Array:
        flat_inputs, flat_gradient = saved.reshape(-1, saved.shape[-1]), gradient.reshape(-1, gradient.shape[-1])
        self.weight.add(lambda: flat_inputs.T @ flat_gradient)
        if self.bias is not None:
            self.bias.add(lambda: flat_gradient.sum(axis=0))
        return gradient @ self.weight.value.T

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        size, outputs = math.prod(inputs), self.weight.shape[1]
        return Cost((*inputs[:-1], outputs), size * itemsize, operations=size * outputs)


class TiedLinear(Layer):
    """Scores of tokens by the table of their embedding (Press and Wolf, arXiv:1608.05859), for plans alone."""

    def __init__(self, tokens: Parameter) -> None:
        self.tokens = tokens

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        size, outputs = math.prod(inputs), self.tokens.shape[0]
        return Cost((*inputs[:-1], outputs), size * itemsize, operations=size * outputs)


class Gelu(Layer):
    """The Gaussian error linear unit in its tanh form (Hendrycks and Gimpel, arXiv:1606.08415, section 2)."""

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        tangent = np.tanh(GELU * inputs * (1 + 0.044715 * inputs * inputs))
        return 0.5 * inputs * (1 + tangent), (inputs, tangent)

    def backward(self, gradient: Array, saved: Saved) -> Array:
        inputs, tangent = saved
        slope = GELU * (1 + 3 * 0.044715 * inputs * inputs) * (1 - tangent * tangent)
        return gradient * (0.5 * (1 + tangent + inputs * slope))

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        return Cost(inputs, 2 * math.prod(inputs) * itemsize)


class Relu(Layer):
    """max(inputs, 0)."""

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        positive = inputs > 0
        return inputs * positive, positive

    def backward(self, gradient: Array, saved: Saved) -> Array:
        return gradient * saved

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        return Cost(inputs, math.prod(inputs))  # a byte says whether a number was positive


class LayerNorm(Layer):
    """Normalise the last axis to mean 0 and variance 1, then scale and shift (Ba et al., arXiv:1607.06450)."""

    def __init__(self, gain: Parameter, bias: Parameter) -> None:
        self.gain, self.bias = gain, bias

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        centred = inputs - inputs.mean(axis=-1, keepdims=True)
        scale = 1 / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
        normal = centred * scale
        return normal * self.gain.value + self.bias.value, (normal, scale)

    def backward(self, gradient: Array, saved: Saved) -> Array:
        normal, scale = saved
        axes = tuple(range(gradient.ndim - 1))
        self.gain.add(lambda: (gradient * normal).sum(axis=axes))
        self.bias.add(lambda: gradient.sum(axis=axes))
        inner = gradient * self.gain.value
        mean = inner.mean(axis=-1, keepdims=True)
        projection = (inner * normal).mean(axis=-1, keepdims=True)
        return (inner - mean - normal * projection) * scale

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        size = math.prod(inputs)
        return Cost(inputs, (size + size // inputs[-1]) * itemsize)


class Embedding(Layer):
    """Rows of a table for tokens [batch, length], plus a row for each position."""

    def __init__(self, tokens: Parameter, positions: Parameter) -> None:
        self.tokens, self.positions = tokens, positions

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        return self.tokens.value[inputs] + self.positions.value[: inputs.shape[1]], inputs

    def backward(self, gradient: Array, saved: Saved) -> Array:
        def of_tokens() -> Array:
            total = np.zeros(self.tokens.shape, gradient.dtype)
            np.add.at(total, saved, gradient)
            return total

        def of_positions() -> Array:
            total = np.zeros(self.positions.shape, gradient.dtype)
            total[: saved.shape[1]] = gradient.sum(axis=0)
            return total

        self.tokens.add(of_tokens)
        self.positions.add(of_positions)
        return np.zeros(saved.shape, gradient.dtype)  # tokens have no gradient

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        return Cost((*inputs, self.tokens.shape[1]), math.prod(inputs) * INDEX)


class Attention(Layer):
    """Causal self-attention of several heads (Vaswani et al., arXiv:1706.03762, section 3.2), for inputs
    [batch, length, width]. `inner` makes queries, keys and values [heads, 3, width of a head] of each position;
    `outer` brings the heads' results together. A rank may hold some of the heads only."""

    def __init__(self, inner: Layer, outer: Layer, heads: int) -> None:
        self.inner, self.outer, self.heads = inner, outer, heads

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        mixed, inner_saved = self.inner.forward(inputs)
        batch, length = mixed.shape[:2]
        # [3, batch, heads, length, width of a head]
        parts = np.ascontiguousarray(mixed.reshape(batch, length, self.heads, 3, -1).transpose(3, 0, 2, 1, 4))
        queries, keys, values = parts
        scores = queries @ keys.swapaxes(-1, -2)
        scores /= scores.dtype.type(math.sqrt(queries.shape[-1]))
        scores[..., ~np.tri(length, dtype=bool)] = MASKED
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
        of_scores = of_heads @ values.swapaxes(-1, -2)  # of the weights, until the softmax is undone
        of_scores -= (of_scores * weights).sum(axis=-1, keepdims=True)
        of_scores *= weights
        of_scores /= of_scores.dtype.type(math.sqrt(width))
        parts = np.stack([of_scores @ keys, of_scores.swapaxes(-1, -2) @ queries, of_values])
        of_inputs = self.inner.backward(parts.transpose(1, 3, 2, 0, 4).reshape(batch, length, -1), inner_saved)
        self._clear_bias_of_keys()
        return of_inputs

    def _clear_bias_of_keys(self) -> None:
        """The gradient of the keys' bias is zero, since softmax doesn't change when all scores of a position shift by
        the same number. Computed, it is a rounding error, which Adam would magnify to a step."""
        bias = self.inner.parameters[-1]

        def negative() -> Array:
            change = np.zeros(bias.shape, bias.dtype)
            keys = np.s_[:, 1]
            change.reshape(self.heads, 3, -1)[keys] = -bias.gradient.reshape(self.heads, 3, -1)[keys]
            return change

        bias.add(negative)

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        inner = self.inner.cost(inputs, itemsize)
        batch, length, mixed = inner.outputs
        activations = (batch * length * mixed + batch * self.heads * length**2) * itemsize
        heads = Cost((batch, length, mixed // 3), activations, operations=2 * batch * length**2 * (mixed // 3))
        return inner.join(heads).join(self.outer.cost(heads.outputs, itemsize))


class Convolution(Layer):
    """A 3 x 3 convolution with stride 1, for inputs [batch, height, width, channels]. Rows beyond the image are zeros;
    with `halo` the inputs have a row more above and below, which a neighbour has sent."""

    def __init__(self, weight: Parameter, bias: Parameter | None, halo: bool = False) -> None:
        self.weight, self.bias, self.halo = weight, bias, halo  # weight [3, 3, in, out]

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        rows = (0, 0) if self.halo else (1, 1)
        padded = np.pad(inputs, ((0, 0), rows, (1, 1), (0, 0)))
        outputs = _neighbours(padded) @ self.weight.value.reshape(-1, self.weight.shape[3])
        return (outputs if self.bias is None else outputs + self.bias.value), padded

    def backward(self, gradient: Array, saved: Saved) -> Array:
        flat = gradient.reshape(-1, gradient.shape[-1])

        def of_weight() -> Array:
            neighbours = _neighbours(saved)
            return (neighbours.reshape(-1, neighbours.shape[-1]).T @ flat).reshape(self.weight.shape)

        self.weight.add(of_weight)
        if self.bias is not None:
            self.bias.add(lambda: flat.sum(axis=0))
        of_padded = np.zeros_like(saved)
        height, width = gradient.shape[1:3]
        for row in range(3):
            for column in range(3):
                part = of_padded[:, row : row + height, column : column + width]
                part += gradient @ self.weight.value[row, column].T
        return of_padded[:, :, 1:-1] if self.halo else of_padded[:, 1:-1, 1:-1]

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        batch, height, width, channels = inputs
        rows = height if self.halo else height + 2
        outputs = (batch, rows - 2, width, self.weight.shape[3])
        activations = batch * rows * (width + 2) * channels * itemsize
        return Cost(outputs, activations, operations=math.prod(outputs) * 9 * channels)


def _neighbours(padded: Array) -> Array:
    """The nine neighbours of each pixel [batch, height, width, 9 x channels], so that a convolution is a product of
    matrices (Chellapilla et al., 2006)."""
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    ordered = windows.transpose(0, 1, 2, 4, 5, 3)
    return ordered.reshape(*ordered.shape[:3], -1)


class MeanPixels(Layer):
    """The mean over height and width: [batch, height, width, channels] -> [batch, channels]."""

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        return inputs.mean(axis=(1, 2)), inputs.shape

    def backward(self, gradient: Array, saved: Saved) -> Array:
        pixels = gradient.dtype.type(saved[1] * saved[2])
        return np.broadcast_to(gradient[:, None, None] / pixels, saved).copy()

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        return Cost((inputs[0], inputs[3]))


class Sequential(Layer):
    """Layers, one after the other."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self.layers = layers

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

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        total = Cost(inputs)
        for layer in self.layers:
            total = total.join(layer.cost(total.outputs, itemsize))
        return total


class Residual(Layer):
    """inputs + layers(inputs) (He et al., arXiv:1512.03385)."""

    def __init__(self, *layers: Layer) -> None:
        self.inside = Sequential(layers)

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        outputs, saved = self.inside.forward(inputs)
        return inputs + outputs, saved

    def backward(self, gradient: Array, saved: Saved) -> Array:
        return gradient + self.inside.backward(gradient, saved)

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        return self.inside.cost(inputs, itemsize)


def buffers(saved: Saved) -> int:
    """Bytes of all arrays in what layers have saved, each buffer once."""
    owners: dict[int, int] = {}
    for array in _arrays(saved):
        while isinstance(array.base, np.ndarray):
            array = array.base
        owners[id(array)] = array.nbytes
    return sum(owners.values())


def _arrays(saved: Saved) -> Iterator[Array]:
    if isinstance(saved, np.ndarray):
        yield saved
    elif isinstance(saved, list | tuple):
        for each in saved:
            yield from _arrays(each)


def softmax(scores: Array) -> Array:
    """Probabilities along the last axis."""
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    raised /= raised.sum(axis=-1, keepdims=True)
    return raised


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
    gradient /= gradient.dtype.type(count)
    return loss, gradient.reshape(scores.shape)
