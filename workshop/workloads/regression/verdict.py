"""The verdict on a regression: how fast it was, how well conditioned its features are, and what it exchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core import words
from workshop.extension import Verdict
from workshop.report.analysis.findings import Facts, Finding
from workshop.workloads.regression.published import NODES, PUBLISHED, SOURCE, measured

ILL_CONDITIONED = 1e4  # as in `fit`, which imports MPI
AGREE = 1e-6  # largest relative difference from scikit-learn that counts as rounding


def outcome(facts: Facts) -> Finding | None:
    """The outcome of a regression; None without its metrics."""
    metrics = facts.metrics
    fitted = measured(metrics)
    if fitted is None or "bytes_exchanged" not in metrics:
        return None
    parts = [_conditioning(metrics), _exchanged(metrics), _verified(metrics), _published(fitted.rate)]
    return Finding(
        f"{words.rate(metrics['rows_per_second'])} rows/s: {words.thousands(metrics['rows'])} rows "
        f"({words.size(fitted.size)}) fitted in {words.seconds(fitted.seconds)}.",
        " ".join(part for part in parts if part),
        _following(facts),
    )


def _conditioning(metrics: Mapping[str, Any]) -> str:
    condition, method = metrics.get("condition"), metrics.get("method")
    number = f"about {words.short(condition)}" if condition else "too large to be estimated"
    if condition and condition <= ILL_CONDITIONED:
        return f"The features are well-conditioned: their condition number is {number}."
    if method == "QR":
        left_out = metrics["features"] - metrics["rank"]
        truncated = (
            f" {words.capital(words.count(left_out, 'singular value'))} counted as 0, as in scikit-learn; "
            "--tolerance 0 keeps all."
            if left_out
            else ""
        )
        return f"The features are ill-conditioned: their condition number is {number}, so QR was used.{truncated}"
    return (
        f"The features are ill-conditioned: their condition number is {number}, and the normal equations "
        "square it; coefficients may be wrong."
    )


def _exchanged(metrics: Mapping[str, Any]) -> str:
    exchanged = f"{words.size(metrics['bytes_exchanged'])} in a fit"
    if metrics.get("backend") == "sklearn":
        return f"Rank 0 received all rows, {exchanged}, to have scikit-learn fit them."
    if not metrics.get("messages"):
        return ""  # daal4py doesn't tell what it exchanges
    return (
        f"A rank exchanged {exchanged} ({words.count(metrics['messages'], 'message')}), as many for any number of "
        f"rows; k-means with 10 clusters would exchange {words.size(metrics['bytes_kmeans'])} in each iteration."
    )


def _verified(metrics: Mapping[str, Any]) -> str:
    difference = metrics.get("difference")
    if difference is None:
        return ""
    same = "the same as scikit-learn's" if difference <= AGREE else "not the same as scikit-learn's"
    return f"Coefficients are {same} (relative difference {words.short(difference)})."


def _published(rate: float) -> str:
    rates = words.listed(f"{line.title} ({words.size(line.rate)}/s)" for line in PUBLISHED)
    return f"This is {words.size(rate)}/s; published for daal4py on {NODES} nodes: {rates} ({SOURCE})."


def _following(facts: Facts) -> str:
    metrics = facts.metrics
    if metrics.get("backend") == "own" and metrics.get("method") != "QR" and _ill_conditioned(metrics):
        return "Have QR fit from the first row on (--solver qr)."
    if metrics.get("backend") != "own" or not _ill_conditioned(metrics):
        return f"Fit as many rows on {words.ranks(1 if facts.ranks > 1 else 2)}: do the bytes exchanged change?"
    return "Make the features more different (--condition 10), and see which method fits them."


def _ill_conditioned(metrics: Mapping[str, Any]) -> bool:
    condition = metrics.get("condition")
    return condition is None or condition > ILL_CONDITIONED


VERDICT = Verdict(outcome=outcome, first=True)
