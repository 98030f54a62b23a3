"""The task of outlining lesions: a U-Net, which the workshop writes into `unet.json`, and the Dice coefficient."""

from __future__ import annotations

from pathlib import Path

import keras
from keras import ops
from openfl.utilities import Metric

from src.taskrunner import Digits

SMOOTH = 0.1  # pixels, as in workshop/workloads/segmentation/overlap.py
PIXELS = (1, 2, 3)  # axes of an image


def dice_loss(masks, logits):
    """1 minus the soft Dice coefficient of each image, [n], from masks and logits [n, height, width, 1]."""
    predicted = ops.sigmoid(logits)
    both, total = ops.sum(masks * predicted, PIXELS), ops.sum(masks + predicted, PIXELS)
    return 1 - (both + SMOOTH) / (total / 2 + SMOOTH)


def dice(masks, logits):
    """The Dice coefficient of each image, [n], of the pixels that are more likely than not: 1 where both masks are
    empty."""
    predicted = ops.cast(logits > 0, "float32")
    both, total = ops.sum(masks * predicted, PIXELS), ops.sum(masks + predicted, PIXELS)
    return ops.where(total > 0, 2 * both / ops.maximum(total, 1), 1)


class Lesions(Digits):
    """Trains by Adam, which begins anew in every round."""

    def compiled(self, network: str, rate: float) -> keras.Model:
        model = keras.models.model_from_json(Path("src/unet.json").read_text())
        model.compile(optimizer=keras.optimizers.Adam(rate), loss=dice_loss, metrics=[dice], jit_compile=False)
        model.optimizer.build(model.trainable_variables)
        return model

    def train_(self, batch_generator, metrics: list | None = None, **kwargs) -> list[Metric]:
        """Train one epoch. Where a generator has ended, Keras has counted one step too many, and Adam weighs its means
        by that count: set it to the steps that were taken."""
        batches, iterations = list(batch_generator), self.model.optimizer.iterations
        steps = int(iterations.numpy()) + len(batches)
        results = super().train_((batch for batch in batches), metrics, **kwargs)
        iterations.assign(steps)
        return results

    def reset_opt_vars(self) -> None:
        """Forget all but the learning rate. OpenFL calls it where the plan says RESET, but its own does nothing."""
        optimizer = self.model.optimizer
        for variable in optimizer.variables:
            if variable is not optimizer._learning_rate:
                variable.assign(ops.zeros_like(variable))
