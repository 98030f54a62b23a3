"""The commands of guided studies: their common options, and what they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from workshop.cli import common
from workshop.core import words
from workshop.extension import load
from workshop.study import command as commands

Steps = Annotated[str | None, typer.Option(metavar="A,B,…", help="Some of the study's steps; default: all of them.")]
Thorough = Annotated[
    bool, typer.Option("--thorough/--quick", help="Larger grids and longer trials, or small ones (the default).")
]


def guide_command(guide: str, text: str) -> Callable[..., int]:
    """The command of the guided study at a reference such as `package.guide:GUIDE`, with its help."""

    def command(
        steps: Steps = None,
        thorough: Thorough = False,
        settings: commands.Settings = None,
        session: common.SessionName = None,
        private: common.Private = False,
        no_wait: common.NoWait = False,
        minutes: commands.Minutes = 10,
        as_json: common.JSON = False,
    ) -> int:
        return run_guide(load(guide), steps, thorough, settings, session, private, no_wait, minutes, as_json)

    command.__doc__ = text
    return command


def run_guide(
    guide: Any,
    steps: str | None,
    thorough: bool,
    settings: list[str] | None,
    session: str | None,
    private: bool,
    no_wait: bool,
    minutes: float,
    as_json: bool,
) -> int:
    """Begin or go on with a guided study, with the options of a command. Returns the exit code; raises BadInput."""
    from workshop.registry import workload as workload_of
    from workshop.study.guided.kind import steps_in_words
    from workshop.study.guided.plan import plan_here, read_steps
    from workshop.study.settings import read_settings

    planned = read_steps(guide, steps)
    params = read_settings(settings or [], workload_of(guide.workload))
    store, shared = commands.store_and_session(session, private, no_wait)
    setting = plan_here(guide, shared, params, thorough=thorough, steps=planned)
    study = commands.begin(store, setting)
    cores = words.count(setting.cores, "core")
    common.stderr().print(f"The {setting.name} setting of {steps_in_words(setting.steps)}, for {cores}.")
    return commands.go_on(store, study, shared, minutes, as_json)
