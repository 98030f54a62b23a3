"""Tuning: find the placement on which a workload is fastest on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from workshop.cli import common
from workshop.study import command as commands


def tune(
    workload: Annotated[str, typer.Argument(metavar="WORKLOAD", help="What to tune: sgan, mnist or kmeans.")],
    budget: Annotated[
        str, typer.Option("--budget", metavar="TIME", help="How long its runs may take together: 90s, 5m, 1h.")
    ] = "5m",
    trials: Annotated[
        int | None, typer.Option(min=2, max=10_000, metavar="N", help="At most so many placements.")
    ] = None,
    settings: commands.Settings = None,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="The same seed makes the same choices.")] = 0,
    session: common.SessionName = None,
    private: common.Private = False,
    no_wait: common.NoWait = False,
    as_json: common.JSON = False,
) -> int:
    """Find the fastest placement of a workload on this machine. The command that uses it is printed.

    Tries ranks, threads, mapping, binding, yielding, the MPIs that are installed, and the workload's own ways to
    exchange; the same work in every trial, which is what all ranks do together. It goes on where the same command was
    interrupted.
    """
    from workshop.registry import workload as workload_of
    from workshop.study.settings import read_settings
    from workshop.study.tune.plan import plan_here, read_budget, tuning_of

    chosen = workload_of(workload)
    tuning_of(chosen)
    seconds = read_budget(budget)
    given_params = read_settings(settings or [], chosen)
    store, shared = commands.store_and_session(session, private, no_wait)
    planned = plan_here(store, shared, chosen, given_params, budget=seconds, trials=trials, seed=seed)
    study = commands.begin(store, planned)
    return commands.go_on(store, study, shared, 30, as_json)
