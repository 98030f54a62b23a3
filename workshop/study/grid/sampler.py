"""Choose the next cell of a sampled grid, at random or by Optuna's tree-structured Parzen estimator.

TPE (Bergstra, Bardenet, Bengio and Kégl, Algorithms for Hyper-Parameter Optimization, NIPS 2011) models the
distributions of good and of bad cells and tries a cell that is likely to be good. The sampler is rebuilt from the
stored trials for each choice, with a seed that depends on their number. So a resumed study makes the same choices.
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

ATTEMPTS = 60  # times that Optuna is asked for a cell that is new and can be
SAMPLED = 2000  # cells that are looked at where it gives none
FIRST = (4, 10)  # least and most cells at random before there is a model


def propose(
    axes: axes_of.Axes, sampler: Mapping[str, Any], tried: Sequence[CellResult], able: Callable[[dict[str, Any]], bool]
) -> dict[str, Any] | None:
    """The next point to try: a new point that `able` accepts; None if there is none.

    `sampler` has name, trials and seed; `tried` are the cells so far, in their order.
    """
    tried_keys = {_key(cell.point) for cell in tried}
    if len(tried_keys) >= axes_of.count(axes):
        return None
    by_index = {name: sorted(values) if _ordered(values) else list(values) for name, values in axes.items()}
    study, distributions = _study(by_index, sampler, tried)
    for _ in range(ATTEMPTS):
        suggestion = study.ask(distributions)
        point = {name: values[suggestion.params[name]] for name, values in by_index.items()}
        if _key(point) not in tried_keys and able(point):
            return point
        study.tell(suggestion, state=_states().FAIL)  # which neither counts for the model nor comes again for that
    draw = random.Random(sampler["seed"] * 1_000_003 + len(tried))
    others = axes_of.sample(axes, SAMPLED, draw.randrange(2**31))
    draw.shuffle(others)
    return next((point for point in others if _key(point) not in tried_keys and able(point)), None)


def _study(
    axes: axes_of.Axes, sampler: Mapping[str, Any], tried: Sequence[CellResult]
) -> tuple[optuna.Study, dict[str, Any]]:
    """An Optuna study that contains all cells so far."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    seed = (sampler["seed"] * 1_000_003 + len(tried)) % 2**32
    distributions = {name: _distribution(values) for name, values in axes.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        first = min(max(sampler["trials"] // 4, FIRST[0]), FIRST[1])
        optuna_sampler: optuna.samplers.BaseSampler = (
            optuna.samplers.RandomSampler(seed=seed)
            if sampler["name"] == "random"
            else optuna.samplers.TPESampler(seed=seed, n_startup_trials=first, multivariate=True)
        )
        study = optuna.create_study(direction="maximize", sampler=optuna_sampler)
        for cell in tried:
            if all(cell.point.get(name) in values and name in cell.point for name, values in axes.items()):
                indices = {name: list(values).index(cell.point[name]) for name, values in axes.items()}
                study.add_trial(_optuna_trial(cell, indices, distributions))
    return study, distributions


def _optuna_trial(
    cell: CellResult, indices: Mapping[str, int], distributions: Mapping[str, Any]
) -> optuna.trial.FrozenTrial:
    """A cell as an Optuna trial: measured, pruned at a rate, or failed."""
    import optuna

    shape: dict[str, Any] = {"params": dict(indices), "distributions": dict(distributions)}
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
    """The distribution of indices of values: ordered for numbers, categorical for others."""
    import optuna

    if _ordered(values):
        return optuna.distributions.IntDistribution(0, len(values) - 1)
    return optuna.distributions.CategoricalDistribution(list(range(len(values))))


def _ordered(values: Sequence[Any]) -> bool:
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)


def _key(point: Mapping[str, Any]) -> str:
    return cell_key("", point)[1]
