"""The search for pictures with the same gradient direction as the seen one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, minimize

from workshop.engine.tensorflow import tensorflow
from workshop.workloads.inversion.attack import AttackInput, Digits, Pictures

Look = Callable[[int, float, Pictures], bool]
"""`(iterations, distance, pictures)`: is shown how far the search is, and says whether it may go on."""

TRIAL = 20  # iterations of each beginning before the best goes on
MEMORY = 20  # steps from which L-BFGS estimates the curvature
SOFT = 1e-3  # difference of pixels below which total variation is smooth


def recover(
    attack_input: AttackInput,
    digits: Digits,
    look: Look,
    *,
    iterations: int,
    starts: int,
    smooth: float,
    seed: Sequence[int],
) -> Pictures:
    """Pictures [images, 28, 28, 1] from 0 to 1 that show these digits, after at most so many iterations in all.

    `GradientMatch` is minimised by L-BFGS as Zhu et al. 2019 do (arXiv:1906.08935, section 4), with bounds (Byrd et
    al. 1995, SIAM Journal on Scientific Computing 16(5)). It finds the nearest minimum, so that several random
    beginnings are tried for a few iterations each; the one that came farthest goes on.
    """
    matching = GradientMatch(attack_input, digits, smooth)
    random = np.random.default_rng(seed)
    search = _Search(matching, look)
    begun = [random.uniform(0, 1, matching.size) for _ in range(starts)]
    if starts > 1:
        share = min(TRIAL, iterations // (2 * starts))
        begun = [search.go(pixels, share) for pixels in begun]
    pixels = min(begun, key=lambda pixels: matching(pixels)[0])
    return matching.pictures(search.go(pixels, iterations - search.done))


class GradientMatch:
    """1 - cos(g, s) + smooth TV of pixels [images * 28 * 28] and its gradient; g is the gradient of the loss that they
    would make with these digits, s the one that was seen (Geiping et al. 2020, arXiv:2003.14053, equation 4).

    With both vectors of length one, 1 - cos = |g - s|^2 / 2, which single precision doesn't cancel to nothing. Values
    that were not sent, exactly zero, are left out of both.
    """

    def __init__(self, attack_input: AttackInput, digits: Digits, smooth: float = 0.0) -> None:
        tf = tensorflow()
        self.shape = (attack_input.images, *attack_input.model.input_shape[1:])
        self.size = int(np.prod(self.shape))
        self.distance = np.inf  # at the pixels of the last call, without their variation
        variables = [variable.value for variable in attack_input.model.trainable_variables]
        masks = [tf.constant(gradient != 0, tf.float32) for gradient in attack_input.gradients()]
        target = [tf.constant(gradient) for gradient in attack_input.gradients()]
        labels = tf.constant(digits, tf.int32)

        def unit(parts: Sequence[Any]) -> list[Any]:
            length = tf.linalg.global_norm(parts)
            return [tf.math.divide_no_nan(part, length) for part in parts]

        target = unit(target)

        def distance_of(pictures: Any) -> Any:
            with tf.GradientTape() as outer:
                outer.watch(pictures)
                with tf.GradientTape() as inner:
                    inner.watch(variables)
                    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                        labels, attack_input.model(pictures, training=True)
                    )
                    loss = tf.reduce_mean(losses)
                gradients = unit(
                    [gradient * mask for gradient, mask in zip(inner.gradient(loss, variables), masks, strict=True)]
                )
                distance = (
                    sum(
                        tf.reduce_sum((gradient - other) ** 2)
                        for gradient, other in zip(gradients, target, strict=True)
                    )
                    / 2
                )
                value = distance + smooth * _variation(tf, pictures)
            return distance, value, outer.gradient(value, pictures)

        self._distance_of = tf.function(
            distance_of, input_signature=[tf.TensorSpec(self.shape, tf.float32)], autograph=False
        )

    def __call__(self, pixels: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        distance, value, slope = self._distance_of(self.pictures(pixels))
        self.distance = float(distance)
        return float(value), slope.numpy().ravel().astype(np.float64)

    def pictures(self, pixels: NDArray[np.float64]) -> Pictures:
        return pixels.reshape(self.shape).astype(np.float32)


def _variation(tf: Any, pictures: Any) -> Any:
    """The mean difference of neighbouring pixels, down and across (Rudin, Osher and Fatemi 1992, Physica D 60)."""
    steps = (pictures[:, 1:] - pictures[:, :-1], pictures[:, :, 1:] - pictures[:, :, :-1])
    return sum(tf.reduce_mean(tf.sqrt(step**2 + SOFT**2)) for step in steps)


class _Search:
    """Parts of a search one after the other, `done` iterations in all."""

    def __init__(self, matching: GradientMatch, look: Look) -> None:
        self.matching, self.look = matching, look
        self.done, self.over = 0, False

    def go(self, pixels: NDArray[np.float64], iterations: int) -> NDArray[np.float64]:
        """At most so many iterations from some pixels on."""
        if self.over or iterations < 1:
            return pixels

        def after(intermediate_result: OptimizeResult) -> None:
            self.done += 1
            pixels_now = intermediate_result.x
            self.matching(pixels_now)  # the last call may have been a trial of the line search
            if not self.look(self.done, self.matching.distance, self.matching.pictures(pixels_now)):
                self.over = True
                raise StopIteration

        options = {"maxiter": iterations, "maxfun": 20 * iterations, "maxcor": MEMORY, "ftol": 0.0, "gtol": 0.0}
        bounds = [(0.0, 1.0)] * self.matching.size
        result = minimize(
            self.matching, pixels, jac=True, method="L-BFGS-B", bounds=bounds, callback=after, options=options
        )
        return result.x
