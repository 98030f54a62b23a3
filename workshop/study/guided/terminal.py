"""How a guided study looks in a terminal of 80 columns."""

from __future__ import annotations

from rich.text import Text

from workshop.core import words
from workshop.report import terminal
from workshop.study.guided.kind import GuidedReport, StepReport
from workshop.study.guided.step_results import name
from workshop.study.results import best
from workshop.study.terminal import rate, show_report

COLOURS = {"done": "green", "running": "cyan", "partly": "yellow", "waiting": "dim"}


def show_guided(found: GuidedReport) -> None:
    """A line for each step, what each says, and the verdict of all."""
    headings = ("", "step", "state", "cells", "best", found.unit)
    table = terminal.table(headings, map(_row, found.steps), right=("cells", found.unit))
    said = [terminal.labelled(one.step.key, one.verdict["verdict"]) for one in found.steps if one.verdict is not None]
    guide = found.found.guide
    after = [f"After: {guide.source}. What its authors measured stands on the dashboard's page {guide.page}."]
    if runs := [trial.run_id for trial in found.trials if trial.run_id]:
        after.append(f"{words.capital(words.numbered('run', runs))} (workshop runs show RUN)")
    show_report(found, table, *said, after=after)


def _row(one: StepReport) -> list[Text | str]:
    top = best(one.cells)
    state = Text(one.state, style=COLOURS[one.state])
    figures = [name(top), rate(top.median)] if top is not None and top.median is not None else ["-", "-"]
    return [one.step.key, one.step.title, state, f"{one.ended} of {len(one.cells)}", *figures]
