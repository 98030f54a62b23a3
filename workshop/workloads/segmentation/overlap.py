"""How well a mask overlaps with the true one: losses to learn by, and scores to tell.

With g the true mask (0 or 1), p the net's probabilities, TP = sum p g, FP = sum p (1 - g) and FN = sum (1 - p) g over
an image's pixels, the Tversky index is TP / (TP + alpha FP + beta FN) (Salehi et al. 2017, arXiv:1706.05721). With
alpha = beta = 1/2 it is the Dice coefficient D = 2 TP / (2 TP + FP + FN) (Milletari et al. 2016, arXiv:1606.04797),
with alpha = beta = 1 the Jaccard index J = D / (2 - D). With beta larger than alpha, missing a pixel costs more than
one too many.
"""

from __future__ import annotations

from typing import Any

from workshop.engine.tensorflow import tensorflow
from workshop.engine.training.step import PerExample

# Pixels, added above and below the line: an empty mask has a gradient, and nothing is divided by zero. As much as 1
# makes finding nothing at all so good an answer that small lesions are never learned.
SMOOTH = 0.1
WEIGHTS = {"dice": (0.5, 0.5), "jaccard": (1.0, 1.0)}  # alpha and beta
PIXELS = (1, 2, 3)  # axes of an image


def loss_of(name: str, alpha: float, beta: float) -> PerExample:
    """A loss `(masks [n, h, w, 1], logits [n, h, w, 1]) -> [n]`: "dice", "jaccard", or "tversky" with alpha and beta,
    which is 1 minus the index, soft: of probabilities; or "cross-entropy", the mean of all pixels' [nat]."""
    if name == "cross-entropy":
        return _cross_entropy
    alpha, beta = WEIGHTS.get(name, (alpha, beta))
    return lambda masks, logits: 1 - soft_tversky(masks, logits, alpha, beta)


def _cross_entropy(masks: Any, logits: Any) -> Any:
    tf = tensorflow()
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(tf.cast(masks, tf.float32), logits), axis=PIXELS)


def soft_tversky(masks: Any, logits: Any, alpha: float, beta: float, smooth: float = SMOOTH) -> Any:
    """The Tversky index of each example, [n], with `smooth` added to both sides of the fraction: where a mask is empty,
    it is `smooth / (smooth + alpha FP)`, which is 1 where the net finds nothing either."""
    tf = tensorflow()
    true_masks = tf.cast(masks, tf.float32)
    both, only_found, only_true = _counts(true_masks, tf.sigmoid(logits))
    return (both + smooth) / (both + alpha * only_found + beta * only_true + smooth)


def dice(masks: Any, logits: Any) -> Any:
    """The Dice coefficient of each example, [n], as `tversky`."""
    return tversky(masks, logits, *WEIGHTS["dice"])


def jaccard(masks: Any, logits: Any) -> Any:
    """The Jaccard index of each example, [n], as `tversky`."""
    return tversky(masks, logits, *WEIGHTS["jaccard"])


def tversky(masks: Any, logits: Any, alpha: float, beta: float) -> Any:
    """The Tversky index of each example, [n], of the pixels that the net takes for more likely than not: 1 where both
    masks are empty, 0 where one is."""
    tf = tensorflow()
    predicted = tf.cast(logits > 0, tf.float32)  # the sigmoid of 0 is one half
    both, only_found, only_true = _counts(tf.cast(masks, tf.float32), predicted)
    total = both + alpha * only_found + beta * only_true
    return tf.where(total > 0, tf.math.divide_no_nan(both, total), tf.ones_like(total))


def _counts(true_masks: Any, predicted_masks: Any) -> tuple[Any, Any, Any]:
    """TP, FP and FN of each example."""
    tf = tensorflow()
    both = tf.reduce_sum(true_masks * predicted_masks, axis=PIXELS)
    return both, tf.reduce_sum(predicted_masks, axis=PIXELS) - both, tf.reduce_sum(true_masks, axis=PIXELS) - both
