"""The finding of a training run that spends much of its time on evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workshop.core import words
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.analysis.spent import evaluation_share

MUCH = 0.25  # share of training and evaluation from which it is worth a word


def evaluating(facts: Facts) -> Finding | None:
    """Evaluation that takes a good part of the time, of runs that can choose how often and by whom."""
    told, params = facts.metrics, facts.run.params
    every, evaluations = params.get("evaluate_every"), told.get("evaluations")
    if not isinstance(every, int) or not isinstance(evaluations, int) or not evaluations:
        return None
    share = evaluation_share(facts.run)
    if share is None or share < MUCH:
        return None
    alone = params.get("evaluate_by") == "rank0" and facts.ranks > 1
    by_images = params.get("evaluate_unit") == "images" and facts.ranks > 1
    often = f"{words.count(evaluations, 'evaluation')} in {words.count(told.get('updates', 0), 'iteration')}"
    why = f"There {'was' if evaluations == 1 else 'were'} {often}"
    why += f", as they go by the images that all {facts.ranks} ranks read" if by_images else ""
    why += f"; rank 0 made them alone{_waited(told.get('evaluate_wait'))}." if alone else "."
    if alone:
        following = "Let all ranks share the held-out images (--evaluate-by all)"
        following += (
            " and count iterations (--evaluate-unit iterations), and compare." if by_images else ", and compare."
        )
    elif by_images:
        following = "Evaluate after iterations, however many ranks there are (--evaluate-unit iterations), and compare."
    elif evaluations > 1:
        following = f"Evaluate less often (--evaluate-every {2 * every}), and compare."
    else:
        following = f"Train for longer, or evaluate fewer images{_fewer(told.get('held_out_images'))}, and compare."
    return Finding(f"Evaluation takes {words.percent(share)} of the time.", why, following)


def _fewer(images: Any) -> str:
    """The setting that takes half as many."""
    return f" (--evaluate-images {images // 2})" if isinstance(images, int) and images > 1 else ""


def _waited(waited: Any) -> str:
    """How long the other ranks have waited for it, on average."""
    if not isinstance(waited, Sequence) or len(waited) < 2:
        return ""
    return f", for which the others waited {words.seconds(sum(waited[1:]) / (len(waited) - 1))}"
