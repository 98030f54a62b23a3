"""`workshop study run processor`: one processor to its limit, in seven steps."""

from __future__ import annotations

from workshop.cli import common
from workshop.study import command as commands
from workshop.study.guided import command as guided


def processor(
    steps: guided.Steps = None,
    thorough: guided.Thorough = False,
    settings: commands.Settings = None,
    session: common.SessionName = None,
    private: common.Private = False,
    no_wait: common.NoWait = False,
    minutes: commands.Minutes = 10,
    as_json: common.JSON = False,
) -> int:
    """One processor to its limit: ResNet-50 with and without oneDNN, by threads, layout, precision and fusion.

    The dashboard's page Processor shows the same with questions to predict in each step.
    """
    from workshop.workloads.processor.study.guide import GUIDE

    return guided.run_guide(GUIDE, steps, thorough, settings, session, private, no_wait, minutes, as_json)
