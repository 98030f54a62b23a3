"""The closed form: in a network whose first layer is dense, the gradient holds the picture itself.

The gradient of a neuron's weights is its input times the gradient of its bias. So for one image any neuron that it
excites gives it away, by a division (Phong et al. 2018, Privacy-preserving deep learning via additively homomorphic
encryption, IEEE TIFS 13(5), section 3; Geiping et al. 2020, arXiv:2003.14053, proposition 3.1). Of several images a
neuron gives a mixture, unless only one of them excites it; then it gives that one (Boenisch et al. 2023, When the
curious abandon honesty, arXiv:2112.02918, section 4).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workshop.engine.data.digits import SIDE
from workshop.workloads.inversion.attack import AttackInput, Digits, Pictures, digits

ALIKE = 1e-2  # mean difference of pixels up to which two neurons show the same picture
SILENT = 1e-6  # share of the largest bias gradient below which a neuron tells nothing


def recover(seen: AttackInput) -> tuple[Pictures, Digits]:
    """Pictures [images, 28, 28, 1] and what each shows, out of the gradients of a model of two dense layers."""
    weights, biases, following, _ = (one.astype(np.float64) for one in seen.gradients())
    if seen.images == 1:
        return _pictures([_together(weights, biases)]), digits(seen)
    found = _apart(weights, biases, following, seen.images)
    return _pictures([picture for picture, _ in found]), np.array([digit for _, digit in found], np.int32)


def _together(weights: NDArray[np.float64], biases: NDArray[np.float64]) -> NDArray[np.float64]:
    """The picture [pixels] that explains the gradients of all these neurons' weights [pixels, neurons] best: the least
    squares of weights - picture biases, over the values that were sent. Where nothing came of a pixel, it is paper."""
    there = weights != 0
    shares = (weights * biases).sum(axis=1)
    total = (there * biases**2).sum(axis=1)
    return np.divide(shares, total, out=np.zeros(len(weights)), where=total > 0)


def _apart(
    weights: NDArray[np.float64], biases: NDArray[np.float64], following: NDArray[np.float64], images: int
) -> list[tuple[NDArray[np.float64], int]]:
    """As many pictures as there are images, with their digits: those that several neurons show alike come first.

    A mixture is hardly ever the same twice. A neuron that one image alone excites has a gradient of its weights to the
    next layer, `following` [neurons, digits], that is negative at this image's digit only.
    """
    telling = np.flatnonzero(np.abs(biases) > SILENT * np.abs(biases).max())
    single = [one for one in telling if (following[one] < 0).sum() == 1]
    groups: list[list[int]] = []
    shown = {one: weights[:, one] / biases[one] for one in telling}
    for one in sorted(single, key=lambda one: -abs(biases[one])):
        for group in groups:
            if np.abs(shown[group[0]] - shown[one]).mean() < ALIKE:
                group.append(one)
                break
        else:
            groups.append([one])
    groups.sort(key=lambda group: (-len(group), -abs(biases[group[0]])))
    rest = [one for one in telling if one not in set(single)]
    groups += [[one] for one in sorted(rest, key=lambda one: -abs(biases[one]))]
    found = [(_together(weights[:, group], biases[group]), int(following[group[0]].argmin())) for group in groups]
    nothing = (np.zeros(len(weights)), 0)
    return [*found[:images], *[nothing] * (images - len(found))]


def _pictures(found: list[NDArray[np.float64]]) -> Pictures:
    pixels = np.clip(np.nan_to_num(np.stack(found)), 0, 1)
    return pixels.reshape(-1, SIDE, SIDE, 1).astype(np.float32)
