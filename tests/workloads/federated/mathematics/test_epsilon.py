"""Epsilon against formulas that don't use dp-accounting."""

from __future__ import annotations

import math

import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.special import gammaln, logsumexp
from scipy.stats import norm

from workshop.workloads.federated.mathematics.aggregation import epsilon

DELTA = 1e-5


def told(noise, times, share=1.0, delta=DELTA):
    return epsilon(noise, delta, share, times)


def of_order(order, divergence, delta=DELTA):
    """Rényi divergence as epsilon: Canonne, Kamath and Steinke 2020, arXiv:2004.00010, proposition 12."""
    return divergence + math.log1p(-1 / order) - math.log(delta * order) / (order - 1)


@pytest.mark.parametrize(("noise", "times"), [(1.0, 1), (2.0, 10), (5.0, 100), (20.0, 3), (0.7, 2)])
def test_without_sampling_it_is_the_minimum_over_all_orders(noise, times):
    # The Gaussian mechanism's divergence of order a is a / (2 noise^2): Mironov 2017, proposition 7.
    best = minimize_scalar(lambda order: of_order(order, times * order / (2 * noise**2)), (1.5, 5), (1.01, 1000))
    assert told(noise, times) == pytest.approx(best.fun, rel=0.02)
    assert told(noise, times) >= best.fun - 1e-9, "it has to choose among some of the orders"


@pytest.mark.parametrize(("noise", "times"), [(1.0, 1), (2.0, 10), (10.0, 100)])
def test_it_is_above_the_exact_one_and_near_it(noise, times):
    """So many Gaussian mechanisms are one with less noise, whose delta is known: Balle and Wang 2018,
    arXiv:1805.06530, theorem 8."""
    one = noise / math.sqrt(times)

    def delta(epsilon):
        lower = math.exp(epsilon) * norm.cdf(-1 / (2 * one) - epsilon * one)
        return norm.cdf(1 / (2 * one) - epsilon * one) - lower

    exact = brentq(lambda epsilon: delta(epsilon) - DELTA, 1e-6, 100)
    assert exact < told(noise, times) < 1.15 * exact


@pytest.mark.parametrize(("noise", "share", "times"), [(1.0, 0.05, 200), (1.5, 0.25, 40), (4.0, 0.5, 20)])
def test_with_sampling_it_is_that_of_whole_orders(noise, share, times):
    """Mironov, Talwar and Zhang 2019, arXiv:1908.10530, section 3.3: a sum over binomial terms."""

    def divergence(order):
        terms = [
            gammaln(order + 1)
            - gammaln(k + 1)
            - gammaln(order - k + 1)
            + (order - k) * math.log1p(-share)
            + k * math.log(share)
            + (k * k - k) / (2 * noise**2)
            for k in range(order + 1)
        ]
        return float(logsumexp(terms)) / (order - 1)

    whole = min(of_order(order, times * divergence(order)) for order in range(2, 200))
    assert 0.95 * whole < told(noise, times, share) <= whole * (1 + 1e-9)


def test_it_grows_with_rounds_and_shrinks_with_noise_delta_and_smaller_samples():
    rounds = [told(1.5, times, 0.3) for times in (1, 2, 10, 100)]
    assert rounds == sorted(rounds)
    assert told(1.0, 10, 0.3) > told(2.0, 10, 0.3) > told(4.0, 10, 0.3) > 0
    assert told(1.0, 10, delta=1e-7) > told(1.0, 10, delta=1e-3)
    assert told(1.0, 10, 0.1) < told(1.0, 10, 0.5) < told(1.0, 10, 1.0)
