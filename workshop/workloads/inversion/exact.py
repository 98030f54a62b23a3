"""The closed form: in a network whose first layer is dense, the gradient holds the picture itself.

The gradient of a neuron's weights is its input times the gradient of its bias. So for one image any neuron that it
excites gives it away, by a division (Phong et al. 2018, Privacy-preserving deep learning via additively homomorphic
encryption, IEEE TIFS 13(5), section 3; Geiping et al. 2020, arXiv:2003.14053, proposition 3.1). With several
images, a neuron gives a mixture, unless a single image excites it; then it gives that image (Boenisch et al. 2023,
When the curious abandon honesty, arXiv:2112.02918, section 4).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.inversion.attack import AttackInput, Digits, Pictures, digits
from workshop.workloads.mnist.data.digits import SIDE

SAME_PICTURE = 1e-2  # mean difference of pixels up to which two neurons show the same picture
SILENT = 1e-6  # share of the largest bias gradient below which a neuron tells nothing


def recover(attack_input: AttackInput) -> tuple[Pictures, Digits]:
    """Pictures [images, 28, 28, 1] and what each shows, out of the gradients of a model of two dense layers."""
    weights, biases, following, _ = (gradient.astype(np.float64) for gradient in attack_input.gradients())
    if attack_input.images == 1:
        return _pictures([_together(weights, biases)]), digits(attack_input)
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
