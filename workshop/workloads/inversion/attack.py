"""The attacker's side: pictures and digits from an update, in closed form. No function here sees a true image or label.

In a network whose first layer is dense, the gradient holds the picture itself. The gradient of a
neuron's weights is its input times the gradient of its bias. So for one image any neuron that it excites gives it away,
by a division (Phong et al. 2018, Privacy-preserving deep learning via additively homomorphic encryption, IEEE TIFS
13(5), section 3; Geiping et al. 2020, arXiv:2003.14053, proposition 3.1). With several images, a neuron gives a
mixture, unless a single image excites it; then it gives that image (Boenisch et al. 2023, When the curious abandon
honesty, arXiv:2112.02918, section 4).

Compares recovered pictures with the true images. Only the run knows these, to measure the attack; the attacker
doesn't.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.federated.training.learner import Vector
from workshop.workloads.mnist.data.images import SIDE

Pictures = NDArray[np.float32]  # [n, 28, 28, 1] from 0 to 1
Digits = NDArray[np.int32]  # [n]
SAME_PICTURE = 1e-2  # mean difference of pixels up to which two neurons show the same picture
SILENT = 1e-6  # share of the largest bias gradient below which a neuron tells nothing


@dataclass(frozen=True)
class AttackInput:
    """Everything that a curious aggregator knows: the shared `model` (Keras, with the sent weights), the `update` that
    came back, float32 [parameters], the number of `images` and the learning `rate`. It has chosen all of it except the
    update."""

    model: Any
    update: Vector
    images: int
    rate: float

    def gradients(self) -> list[NDArray[Any]]:
        """The update as the gradient that it seems to be, in the shapes of the model's weights."""
        arrays, at = [], 0
        for weight in self.model.weights:
            size = int(np.prod(weight.shape))
            arrays.append(self.update[at : at + size].reshape(weight.shape) / np.float32(-self.rate))
            at += size
        return arrays


def recover(attack_input: AttackInput) -> tuple[Pictures, Digits]:
    """Pictures [images, 28, 28, 1] and what each shows, out of the gradients of a model of two dense layers."""
    weights, biases, following, last = (gradient.astype(np.float64) for gradient in attack_input.gradients())
    if attack_input.images == 1:
        # softmax(logits) - onehot(label) is negative at the label alone (Zhao et al. 2020, arXiv:2001.02610).
        digit = np.array([last.argmin()], np.int32)
        return _pictures([_together(weights, biases)]), digit
    recovered = _separate(weights, biases, following, attack_input.images)
    return _pictures([picture for picture, _ in recovered]), np.array([digit for _, digit in recovered], np.int32)


def _together(weights: NDArray[np.float64], biases: NDArray[np.float64]) -> NDArray[np.float64]:
    """The picture [pixels] that explains the gradients of all these neurons' weights [pixels, neurons] best: the least
    squares of weights - picture biases, over the values that were sent. A pixel without any value is paper."""
    nonzero = weights != 0
    shares = (weights * biases).sum(axis=1)
    total = (nonzero * biases**2).sum(axis=1)
    return np.divide(shares, total, out=np.zeros(len(weights)), where=total > 0)


def _separate(
    weights: NDArray[np.float64], biases: NDArray[np.float64], following: NDArray[np.float64], images: int
) -> list[tuple[NDArray[np.float64], int]]:
    """As many pictures as there are images, with their digits: those that several neurons show alike come first.

    A mixture is hardly ever the same twice. A neuron that one image alone excites has a gradient of its weights to the
    next layer, `following` [neurons, digits], that is negative at this image's digit only.
    """
    active = np.flatnonzero(np.abs(biases) > SILENT * np.abs(biases).max()).tolist()
    single = [neuron for neuron in active if (following[neuron] < 0).sum() == 1]
    groups: list[list[int]] = []
    images_by_neuron = {neuron: weights[:, neuron] / biases[neuron] for neuron in active}
    for neuron in sorted(single, key=lambda neuron: -abs(biases[neuron])):
        for group in groups:
            if np.abs(images_by_neuron[group[0]] - images_by_neuron[neuron]).mean() < SAME_PICTURE:
                group.append(neuron)
                break
        else:
            groups.append([neuron])
    groups.sort(key=lambda group: (-len(group), -abs(biases[group[0]])))
    rest = [neuron for neuron in active if neuron not in set(single)]
    groups += [[neuron] for neuron in sorted(rest, key=lambda neuron: -abs(biases[neuron]))]
    recovered = [(_together(weights[:, group], biases[group]), int(following[group[0]].argmin())) for group in groups]
    nothing = (np.zeros(len(weights)), 0)
    return [*recovered[:images], *[nothing] * (images - len(recovered))]


def _pictures(recovered: list[NDArray[np.float64]]) -> Pictures:
    pixels = np.clip(np.nan_to_num(np.stack(recovered)), 0, 1)
    return pixels.reshape(-1, SIDE, SIDE, 1).astype(np.float32)


MOST_DECIBELS = 100.0  # dB, where there is no difference
AT_ONCE = 4096  # images


def psnr(image: NDArray[np.float32], picture: NDArray[np.float32]) -> float:
    """The peak signal-to-noise ratio in dB, 10 log10 (1 / MSE) for pixels from 0 to 1 (Salomon, Data compression,
    Springer 2007, section 4.2.2), at most `MOST_DECIBELS`."""
    error = float(np.mean((image.astype(np.float64) - picture) ** 2))
    return min(-10 * math.log10(error), MOST_DECIBELS) if error > 0 else MOST_DECIBELS


def _standard(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Rows with mean zero and length one; zeros where a row is constant."""
    centred = rows.astype(np.float64) - rows.mean(axis=1, dtype=np.float64, keepdims=True)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    return np.divide(centred, lengths, out=np.zeros_like(centred), where=lengths > 1e-9)


def matched(images: NDArray[np.float32], pictures: NDArray[np.float32]) -> list[int]:
    """The picture of each image: pairs with the least squared difference first, each picture once. An attacker recovers
    pictures in no order."""
    flat, others = (array.reshape(len(array), -1).astype(np.float64) for array in (images, pictures))
    distances = ((flat[:, None] - others[None]) ** 2).sum(axis=2)
    matches = [-1] * len(images)
    for _ in images:
        image, picture = np.unravel_index(distances.argmin(), distances.shape)
        matches[image] = int(picture)
        distances[image], distances[:, picture] = np.inf, np.inf
    return matches


def nearest(
    pictures: NDArray[np.float32], positions: Sequence[int], among: NDArray[np.uint8]
) -> list[tuple[float, float]]:
    """For each picture, its correlations with the true image, which is at a position among images [n, 28, 28] of bytes,
    and with the best other one."""
    rows = _standard(pictures.reshape(len(pictures), -1))
    parts = np.array_split(among, len(among) // AT_ONCE + 1)
    correlations = np.concatenate([rows @ _standard(part.reshape(len(part), -1)).T for part in parts], axis=1)
    return [
        (float(row[position]), float(np.delete(row, position).max(initial=-1.0)))
        for row, position in zip(correlations, positions, strict=True)
    ]
