"""`workshop study run path`: the article's path, from a naive start to the machine's limit in nine steps."""

from __future__ import annotations

from typing import Annotated

import typer

from workshop.cli import common
from workshop.study import command as commands


def path(
    steps: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="Some of the steps a to i; default: all of them.")
    ] = None,
    thorough: Annotated[
        bool, typer.Option("--thorough/--quick", help="Larger grids and three repeats, or few trials (the default).")
    ] = False,
    settings: commands.Settings = None,
    session: common.SessionName = None,
    private: common.Private = False,
    no_wait: common.NoWait = False,
    minutes: commands.Minutes = 10,
    as_json: common.JSON = False,
) -> int:
    """The article's path as a guided study of the S-GAN: every step is planned from what those before it have found.

    On two cores the quick setting takes at most a quarter of an hour; the command says
    beforehand how long it will probably take here. The dashboard's page Tuning shows the same with
    questions to predict in each step.
    """
    from workshop.core import words
    from workshop.registry import workload as workload_of
    from workshop.study.guided.kind import steps_in_words
    from workshop.study.guided.plan import plan_here, read_steps
    from workshop.study.settings import read_settings
    from workshop.workloads.sgan.study.guide import GUIDE

    planned = read_steps(GUIDE, steps)
    params = read_settings(settings or [], workload_of(GUIDE.workload))
    store, shared = commands.store_and_session(session, private, no_wait)
    setting = plan_here(GUIDE, shared, params, thorough=thorough, steps=planned)
    study = commands.begin(store, setting)
    cores = words.count(setting.cores, "core")
    common.stderr().print(f"The {setting.name} setting of {steps_in_words(setting.steps)}, for {cores}.")
    return commands.go_on(store, study, shared, minutes, as_json)
