"""How good the network is on images that it was not trained on: each rank looks at its share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.engine.data import shard
from workshop.engine.training.step import PerExample, evaluation
from workshop.workloads.mnist import models
from workshop.workloads.mnist.data.images import Images, png

AT_ONCE = 512  # images
MOST_SHOWN = 24  # misclassified images that are kept


@dataclass(frozen=True)
class MnistScore:
    """Loss and accuracy over all held-out images, and on each rank's share."""

    loss: float
    accuracy: float
    losses: list[float]
    accuracies: list[float]


class MnistHeldOut:
    """The held-out images of this rank. Its methods are collective."""

    def __init__(self, comm: Any, images: Images, model: Any, loss: PerExample) -> None:
        begin, end = shard(len(images.held_out_labels), comm.size, comm.rank)
        self.comm = comm
        self.pixels = images.held_out_images[begin:end]
        self.labels = images.held_out_labels[begin:end].astype(np.int32)
        self._evaluate = evaluation(model, loss)
        self._outputs = np.zeros((0, models.CLASSES), np.float32)

    def score(self) -> MnistScore:
        losses, outputs = [], []
        for at in range(0, len(self.labels), AT_ONCE):
            pictures = as_inputs(self.pixels[at : at + AT_ONCE])
            some, gave = self._evaluate(pictures, self.labels[at : at + AT_ONCE])
            losses.append(some)
            outputs.append(gave)
        self._outputs = np.concatenate(outputs) if outputs else self._outputs
        right = float((self._outputs.argmax(axis=1) == self.labels).sum())
        own_sums = np.array([float(np.sum(np.concatenate(losses))) if losses else 0.0, right, len(self.labels)])
        of_all = np.array(self.comm.allgather(own_sums))
        total = of_all.sum(axis=0)
        with np.errstate(invalid="ignore"):  # a rank without images has no score
            each = of_all[:, :2] / of_all[:, 2:]
        return MnistScore(total[0] / total[2], total[1] / total[2], each[:, 0].tolist(), each[:, 1].tolist())

    def confusion(self) -> list[list[int]]:
        """How often the last `score` read a digit (row) as a digit (column), over all ranks: counts [10][10]."""
        counts = np.zeros((models.CLASSES, models.CLASSES), np.int64)
        np.add.at(counts, (self.labels, self._outputs.argmax(axis=1)), 1)
        return np.sum(self.comm.allgather(counts), axis=0).tolist()

    def misclassified(self) -> tuple[int, list[dict[str, Any]]]:
        """On rank 0, the number of images that the last `score` got wrong, and those with the surest wrong answers; on
        other ranks 0 and none."""
        read = self._outputs.argmax(axis=1)
        wrong = np.flatnonzero(read != self.labels)
        likely = _probabilities(self._outputs)[wrong, read[wrong]] if len(wrong) else np.zeros(0)
        surest = np.argsort(-np.nan_to_num(likely), kind="stable")[:MOST_SHOWN]
        # What is no number says nothing of how sure the network was; there is nothing to learn from its picture.
        own_misreadings = [
            {
                "png": png(self.pixels[wrong[at]]),
                "label": int(self.labels[wrong[at]]),
                "predicted": int(read[wrong[at]]),
                "probability": float(likely[at]),
            }
            for at in surest
            if np.isfinite(likely[at])
        ]
        gathered = self.comm.gather((len(wrong), own_misreadings))
        if gathered is None:
            return 0, []
        of_all = sorted(
            (misreading for _, some in gathered for misreading in some),
            key=lambda misreading: -misreading["probability"],
        )
        return sum(count for count, _ in gathered), of_all[:MOST_SHOWN]


def as_inputs(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Bytes [n, 28, 28] as the network takes them: float32 [n, 28, 28, 1] from 0 to 1."""
    return np.asarray(pixels.astype(np.float32) / np.float32(255))[..., np.newaxis]


def _probabilities(outputs: NDArray[np.float32]) -> NDArray[np.float32]:
    """Logits as probabilities; a softmax's outputs stay as they are."""
    if len(outputs) and (outputs >= 0).all() and np.allclose(outputs.sum(axis=1), 1, atol=1e-3):
        return outputs
    raised = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)
