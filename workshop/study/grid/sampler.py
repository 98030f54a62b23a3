"""Which cell of a grid to try next, where not all are: at random, or by Optuna's tree-structured Parzen estimator.

TPE (Bergstra, Bardenet, Bengio and Kégl, Algorithms for Hyper-Parameter Optimization, NIPS 2011) models where good and
where bad cells lie, and tries where good ones are likeliest. Its state is rebuilt from what the store has, each time,
with a seed of its own for each number of cells tried: so whoever goes on after a crash decides alike.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from workshop.study.grid import axes as axes_of
from workshop.study.results import CellResult, cell_key

if TYPE_CHECKING:
    import optuna

ASKED = 60  # times that Optuna is asked for a cell that is new and can be
DRAWN = 2000  # cells that are looked at where it gives none
FIRST = (4, 10)  # least and most cells at random before there is a model


def propose(
    axes: axes_of.Axes, sampler: Mapping[str, Any], tried: Sequence[CellResult], able: Callable[[dict[str, Any]], bool]
) -> dict[str, Any] | None:
    """The point to try next: one that hasn't been and that `able` says can be; None where none is found.

    `sampler` has name, trials and seed; `tried` are the cells so far, in their order.
    """
    seen = {_key(cell.point) for cell in tried}
    if len(seen) >= axes_of.count(axes):
        return None
    study, distributions = _study(axes, sampler, tried)
    for _ in range(ASKED):
        asked = study.ask(distributions)
        point = _point(axes, asked.params)
        if _key(point) not in seen and able(point):
            return point
        study.tell(asked, state=_states().FAIL)  # which neither counts for the model nor comes again for that
    draw = random.Random(sampler["seed"] * 1_000_003 + len(tried))
    others = axes_of.sample(axes, DRAWN, draw.randrange(2**31))
    draw.shuffle(others)
    return next((point for point in others if _key(point) not in seen and able(point)), None)


def _study(
    axes: axes_of.Axes, sampler: Mapping[str, Any], tried: Sequence[CellResult]
) -> tuple[optuna.Study, dict[str, Any]]:
    """An Optuna study that holds all cells so far, as if Optuna had chosen them."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    seed = (sampler["seed"] * 1_000_003 + len(tried)) % 2**32
    distributions = {name: _distribution(values) for name, values in axes.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        first = min(max(sampler["trials"] // 4, FIRST[0]), FIRST[1])
        of: optuna.samplers.BaseSampler = (
            optuna.samplers.RandomSampler(seed=seed)
            if sampler["name"] == "random"
            else optuna.samplers.TPESampler(seed=seed, n_startup_trials=first, multivariate=True)
        )
        study = optuna.create_study(direction="maximize", sampler=of)
        for cell in tried:
            if (indices := _indices(axes, cell.point)) is not None:
                study.add_trial(_told(cell, indices, distributions))
    return study, distributions


def _told(cell: CellResult, indices: Mapping[str, int], distributions: Mapping[str, Any]) -> optuna.trial.FrozenTrial:
    """A cell as Optuna knows it: measured, pruned at a rate, or failed."""
    import optuna

    shape = {"params": dict(indices), "distributions": dict(distributions)}
    if cell.rates:
        return optuna.trial.create_trial(value=median(cell.rates), **shape)
    if cell.status == "pruned":
        reached = {} if cell.pruned_at is None else {0: cell.pruned_at}
        return optuna.trial.create_trial(state=_states().PRUNED, intermediate_values=reached, **shape)
    return optuna.trial.create_trial(state=_states().FAIL, **shape)


def _states() -> Any:
    import optuna

    return optuna.trial.TrialState


def _distribution(values: Sequence[Any]) -> Any:
    """Values by their index: numbers in their order, so that neighbours are alike; anything else has no order."""
    import optuna

    if _ordered(values):
        return optuna.distributions.IntDistribution(0, len(values) - 1)
    return optuna.distributions.CategoricalDistribution(list(range(len(values))))


def _ordered(values: Sequence[Any]) -> bool:
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)


def _by_index(values: Sequence[Any]) -> list[Any]:
    return sorted(values) if _ordered(values) else list(values)


def _point(axes: axes_of.Axes, indices: Mapping[str, int]) -> dict[str, Any]:
    return {name: _by_index(values)[indices[name]] for name, values in axes.items()}


def _indices(axes: axes_of.Axes, point: Mapping[str, Any]) -> dict[str, int] | None:
    """None for a point that isn't of this grid."""
    try:
        return {name: _by_index(values).index(point[name]) for name, values in axes.items()}
    except (KeyError, ValueError):
        return None


def _key(point: Mapping[str, Any]) -> str:
    return cell_key("", point)[1]
