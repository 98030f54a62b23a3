"""The attacker's input, and the digits that the last layer gives away. No function here or in `exact` and `search` sees
a true image or label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.federated.training.learner import Vector

Pictures = NDArray[np.float32]  # [n, 28, 28, 1] from 0 to 1
Digits = NDArray[np.int32]  # [n]


@dataclass(frozen=True)
class AttackInput:
    """Everything that a curious aggregator knows: the shared `model` (Keras, with the sent weights), the `update` that
    came back, float32 [parameters], and the numbers of `images`, of `steps` and of their `rate`. It has chosen all of
    it except the update."""

    model: Any
    update: Vector
    images: int
    rate: float
    steps: int = 1

    def gradients(self) -> list[NDArray[Any]]:
        """The update as the gradient that it seems to be, in the shapes of the model's weights."""
        arrays, at = [], 0
        for weight in self.model.weights:
            size = int(np.prod(weight.shape))
            arrays.append(self.update[at : at + size].reshape(weight.shape) / np.float32(-self.rate * self.steps))
            at += size
        return arrays


def digits(attack_input: AttackInput) -> Digits:
    """The digits of the images, from the gradient of the last layer's bias, in rising order.

    For one image that gradient is softmax(logits) - onehot(label), so that its only negative value is at the label
    (iDLG: Zhao, Mopuri and Bilen 2020, arXiv:2001.02610, section 3). For several it is the mean of these: each image
    takes as much from the value of its digit, and digits are taken one after the other from where the value is least
    (Wainakh et al. 2021, User-level label leakage from gradients, arXiv:2105.09369). The model's mean answer to paper,
    grey and ink is subtracted before, as the answer to an unknown image; but not where the model has learned other
    answers on the way.
    """
    rest = attack_input.gradients()[-1].astype(np.float64)
    if attack_input.images == 1:
        return np.array([rest.argmin()], np.int32)
    if attack_input.steps == 1:
        rest -= _expected(attack_input.model)
    each = -rest[rest < 0].sum() / attack_input.images
    labels = []
    for _ in range(attack_input.images):
        labels.append(int(rest.argmin()))
        rest[labels[-1]] += each
    return np.sort(np.array(labels, np.int32))


def _expected(model: Any) -> NDArray[np.float64]:
    """The probabilities [digits] that a model gives to unknown pictures."""
    flat = np.linspace(0, 1, 3, dtype=np.float32)[:, None, None, None] * np.ones(
        (1, *model.input_shape[1:]), np.float32
    )
    logits = np.asarray(model(flat, training=False), np.float64)
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return (raised / raised.sum(axis=1, keepdims=True)).mean(axis=0)
