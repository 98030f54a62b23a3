"""`workshop study run path`: the article's path, from a naive start to the machine's limit in nine steps."""

from __future__ import annotations

from workshop.cli import common
from workshop.study import command as commands
from workshop.study.guided import command as guided


def path(
    steps: guided.Steps = None,
    thorough: guided.Thorough = False,
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
    from workshop.workloads.sgan.study.guide import GUIDE

    return guided.run_guide(GUIDE, steps, thorough, settings, session, private, no_wait, minutes, as_json)
