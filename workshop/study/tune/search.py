"""Choose the next trial: ask an Optuna study, and tell it the results of the trials that have ended.

The Optuna study is in Optuna's own storage. Its tables have names of the store's tables (`studies`, `trials`), so they
are in a file beside a SQLite store, and in a schema of their own in a PostgreSQL database. A trial that is running in
Optuna's study and is not in the store is the next one, as a command was killed between the two.

At the end the best placement and the naive start are measured again in turn, because the largest of many noisy values
is usually a lucky one.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL, create_engine, make_url
from sqlalchemy.schema import CreateSchema

from workshop.core import config, words
from workshop.core.memory import SPARE
from workshop.registry import workload
from workshop.report.activity import duration
from workshop.report.endings import MEMORY
from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.study.kinds import Sofar, Watched
from workshop.study.results import rate_of
from workshop.study.trials import Cell, interleave, status
from workshop.study.tune.study import Point, TuneStudy, key, settings

if TYPE_CHECKING:
    import optuna

COMPARED = 2  # trials that are run in any case: the default and the naive start
TRIAL = 15.0  # seconds that a trial takes, about: most are for its ranks to start and to import their libraries
FINAL_ROUNDS = 2  # rounds in which the best and the naive start are measured again, where the budget allows
AT_RANDOM = 6  # measured trials before the sampler has a model
MEASURED = 3.0  # seconds that a trial should measure
ENOUGH = (1.5, 6.0)  # seconds that are long enough and short enough
BUSY = 10  # seconds to wait for another writer of a SQLite file
SCHEMA = "optuna"


@lru_cache(maxsize=1)
def _storage(url: URL) -> optuna.storages.RDBStorage:
    """Optuna's storage beside the store with this URL."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if url.get_backend_name() == "sqlite":
        beside = url.set(database=str(Path(url.database or "").with_suffix(".optuna.db")))
        options: dict[str, Any] = {"connect_args": {"timeout": BUSY}}
    else:
        beside = url.set(drivername="postgresql+psycopg")
        engine = create_engine(beside)
        with engine.begin() as connection:
            connection.execute(CreateSchema(SCHEMA, if_not_exists=True))
        engine.dispose()
        options = {"connect_args": {"options": f"-csearch_path={SCHEMA}"}}
    return optuna.storages.RDBStorage(beside.render_as_string(hide_password=False), engine_kwargs=options)


def optuna_study(study: StudyRecord, seed: int = 0) -> optuna.Study:
    """The Optuna study of a tuning study; it is created if there is none yet."""
    import optuna

    return optuna.create_study(
        storage=_storage(make_url(config.database_url())),
        study_name=f"{study.id} {study.created_at}",  # a new store counts from 1 again
        load_if_exists=True,
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=seed, n_startup_trials=AT_RANDOM, multivariate=True),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=COMPARED, n_warmup_steps=1),
    )


def distributions(study: TuneStudy) -> dict[str, optuna.distributions.BaseDistribution]:
    """The parameters of the Optuna study with their values."""
    from optuna.distributions import CategoricalDistribution

    return {name: CategoricalDistribution(values) for name, values in study.choices().items()}


def _running(studied: optuna.Study, study: TuneStudy) -> Iterator[tuple[optuna.trial.Trial, str]]:
    """The trials that Optuna takes for running, each with its point as a key."""
    from optuna.trial import Trial as OptunaTrial
    from optuna.trial import TrialState

    for frozen in studied.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        yield OptunaTrial(studied, frozen._trial_id), key(study.point(frozen.params) or {})


def more(sofar: Sofar) -> list[Trial]:
    """The next trial of the search, then the repeats at the end; none if the study is complete."""
    study = TuneStudy.read(sofar.study)
    first, repeats = split(sofar.trials)
    if repeats:
        return []
    point = _next(study, sofar)
    if point is None:
        return finals(study, first, sofar.runs)
    return interleave([study.cell(point, length(study, first, sofar.runs))], 1, first=len(first) + 1)


def _next(study: TuneStudy, sofar: Sofar) -> Point | None:
    """The next point of the search; None if it is over. The same again until its trial is stored."""
    from optuna.trial import TrialState

    tried, runs = sofar.trials, sofar.runs
    trial_by_point = {key(trial.point): trial for trial in tried}
    studied = optuna_study(sofar.study, study.seed + len(tried))
    points = {key(point): point for point in study.points()}
    waiting = None
    for optuna_trial, name in _running(studied, study):
        if name in trial_by_point:
            rate = measured(trial_by_point[name], runs, study.rate)
            ended = TrialState.PRUNED if trial_by_point[name].pruned else TrialState.FAIL
            studied.tell(optuna_trial, rate, state=None if rate else ended)
        elif name in points and waiting is None:
            waiting = points[name]
        else:  # a command was killed before all of its settings were chosen
            studied.tell(optuna_trial, state=TrialState.FAIL)
    if waiting is not None:
        return waiting
    if len(tried) >= COMPARED:
        last = finalists(study, tried, runs)
        ahead = spent(tried, runs) + usual(tried, runs) + FINAL_ROUNDS * spent(last, runs)
        if ahead > study.budget or (study.most_trials is not None and len(tried) >= study.most_trials):
            return None
    most = most_ranks(study, tried, runs) if len(tried) >= COMPARED else math.inf
    candidates = [name for name, point in points.items() if name not in trial_by_point and point["ranks"] <= most]
    if not candidates:
        return None
    choices = distributions(study)
    for point in study.begin if not tried else ():
        studied.enqueue_trial(settings(point), skip_if_exists=True)
    shuffled = random.Random(study.seed + len(tried)).sample(candidates, len(candidates))
    while True:
        suggested = studied.ask(choices)
        if (name := key(study.point(suggested.params) or {})) in candidates:
            return points[name]
        studied.tell(suggested, state=TrialState.FAIL)  # it has been tried, or can't be: the nearest that can be
        nearest = min(shuffled, key=lambda name: _differences(settings(points[name]), suggested.params))
        studied.enqueue_trial(settings(points[nearest]))


def _differences(params: Mapping[str, Any], others: Mapping[str, Any]) -> int:
    """The number of parameters that differ."""
    return sum(others[name] != value for name, value in params.items())


def hopeless(sofar: Sofar, trial: Trial, watched: Watched) -> str | None:
    """The reason why Optuna's pruner ends a trial early; None while it goes on. The naive start is the reference, and
    the repeats at the end decide the verdict, so neither is ended early."""
    if trial.repeat > 1 or watched.rate is None:
        return None
    study, studied, step = TuneStudy.read(sofar.study), optuna_study(sofar.study), int(watched.seconds)
    optuna_trial = next(
        (optuna_trial for optuna_trial, name in _running(studied, study) if name == key(trial.point)), None
    )
    if optuna_trial is None:  # a failed trial that is run again
        return None
    if step not in studied.get_trials(deepcopy=False)[optuna_trial.number].intermediate_values:
        optuna_trial.report(watched.rate, step)
    if key(trial.point) == key(study.naive) or not optuna_trial.should_prune():
        return None
    rate = words.quantity(watched.rate, study.unit)
    return f"After {words.seconds(watched.seconds)} it did {rate}, less than the median of the trials before it."


def finals(study: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> list[Trial]:
    """The repeats at the end: rounds of the best and the naive start, as many as the budget allows."""
    chosen = finalists(study, tried, runs)
    each = spent(chosen, runs)
    rounds = min(int(max(study.budget - spent(tried, runs), 0.0) // each), FINAL_ROUNDS) if each else 0
    cells = [Cell(trial.label, trial.params, trial.placement, trial.point) for trial in chosen]
    return interleave(cells, rounds, first=len(tried) + 1, repeat=2)


def finalists(study: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> list[Trial]:
    """The best trial and the naive start, as far as they have been measured; once if they are the same."""
    done = sorted(
        (trial for trial in tried if measured(trial, runs, study.rate)),
        key=lambda trial: -(measured(trial, runs, study.rate) or 0.0),
    )
    naive = [trial for trial in done[1:] if key(trial.point) == key(study.naive)]
    return [*done[:1], *naive]


def total(sofar: Sofar) -> int:
    """The estimated number of trials."""
    study = TuneStudy.read(sofar.study)
    first, repeats = split(sofar.trials)
    if repeats:
        return len(sofar.trials)
    each = usual(first, sofar.runs) or TRIAL
    likely = len(first) + int(max(study.budget - spent(first, sofar.runs), 0.0) // each)
    if study.most_trials is not None:
        likely = min(likely, study.most_trials + FINAL_ROUNDS * COMPARED)
    return max(likely, COMPARED, len(first))


def split(trials: Sequence[Trial]) -> tuple[list[Trial], list[Trial]]:
    """The trials of the search, and those that repeat the best of them."""
    return [trial for trial in trials if trial.repeat == 1], [trial for trial in trials if trial.repeat > 1]


def length(study: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> dict[str, int]:
    """The length of the next trial: that of the first completed trial, unless it measured for far too short or too
    long."""
    tuning = workload(study.workload).tuning
    assert tuning is not None, "only such workloads are planned"
    value = study.params[tuning.length]
    done = next((runs[trial.run_id] for trial in tried if trial.run_id and status(trial, runs) == "completed"), None)
    took = _seconds(study, done, tuning.seconds) if done is not None else None
    if not study.fixed and took and not ENOUGH[0] <= took <= ENOUGH[1]:
        target = max(value * MEASURED / took, 1.0)
        value = max(int(round(target, 1 - int(math.log10(target)))), 1)  # two digits are enough
    return {tuning.length: value}


def _seconds(study: TuneStudy, run: RunRecord, name: str) -> float | None:
    """The seconds that a run has measured; in training without the first steps, which compile."""
    steps, rate = run.metrics.get("measured_steps"), rate_of(run, study.rate)
    if study.share and steps and rate:
        return float(steps * study.params[study.share] / rate)
    seconds: float | None = run.metrics.get("seconds", {}).get(name)
    return seconds


def most_ranks(study: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> float:
    """How many ranks may fit into memory: as many as have room with the smallest memory of any rank so far, and fewer
    than ran out of memory."""
    ended = _runs(tried, runs)
    sizes = [each for run in ended for each in run.metrics.get("memory") or [] if each]
    most: float = (1 - SPARE) * study.memory // min(sizes) if sizes and study.memory else math.inf
    short: list[float] = [run.placement["ranks"] - 1 for run in ended if run.error and run.error.get("type") in MEMORY]
    return min([most, *short])


def spent(tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> float:
    """Seconds of runs with the start of their ranks."""
    return sum(duration(run) or 0.0 for run in _runs(tried, runs))


def usual(tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> float:
    """Seconds that a trial is likely to take."""
    return median([duration(run) or 0.0 for run in _runs(tried, runs)] or [0.0])


def _runs(trials: Sequence[Trial], runs: Mapping[int, RunRecord]) -> list[RunRecord]:
    return [run for trial in trials if (run := runs.get(trial.run_id or 0)) is not None]


def measured(trial: Trial, runs: Mapping[int, RunRecord], rate: str) -> float | None:
    done = status(trial, runs) == "completed"
    return rate_of(runs.get(trial.run_id or 0), rate) if done else None
