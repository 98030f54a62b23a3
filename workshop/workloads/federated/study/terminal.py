"""How three ways side by side look in a terminal of 80 columns."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from workshop.core import words
from workshop.report import terminal
from workshop.study.terminal import show_head, show_verdict
from workshop.workloads.federated.report.verdict import PUBLISHED
from workshop.workloads.federated.study import sentences
from workshop.workloads.federated.study.kind import WaysReport
from workshop.workloads.federated.study.results import ON, WAYS

LISTED = 20  # seeds with a line of their own


def show_ways(found: WaysReport) -> None:
    """A study of three ways: what each came to, how far apart they are seed by seed, and what others have published."""
    out = Console(highlight=False)
    show_head(out, found)
    if found.found:
        out.print(_came_to(found))
        out.print()
        out.print(_apart(found))
    show_verdict(out, found)
    out.print(Text(f"Published: {PUBLISHED}"))
    for peer in found.peers:
        if peer.ended:
            came = "; ".join(f"{sentences.DATA[on]} {sentences.percent(peer.scores[on])}" for on in peer.scores)
            out.print(Text(f"OpenFL, run {peer.run} (seed {peer.seed}): {came}."))
    runs = [str(one.run) for one in found.found]
    if runs:
        out.print(Text(f"Runs: {', '.join(runs)} (workshop runs show RUN)"))


def _came_to(found: WaysReport) -> Table:
    """Held-out and own scores of each way: over the seeds, then of each seed."""
    scores = [f"{sentences.NAMES[way]}\n{on.replace('_', '-')}" for on in ON for way in WAYS]
    table = terminal.table([f"{found.measure}, %", *scores], right=scores)
    for column in table.columns[1:]:
        column.no_wrap = True
    spreads = [spread for on in ON for way in WAYS if (spread := found.found.spread(way, on)) is not None]
    table.add_row("mean", *(f"{100 * one.mean:.1f}" for one in spreads), style="bold")
    if len(found.found) > 1:
        table.add_row("± sd", *(f"{100 * (one.deviation or 0.0):.1f}" for one in spreads), style="bold")
    for one in found.found[:LISTED]:
        table.add_row(f"seed {one.seed}", *(f"{100 * one.scores[way, on]:.1f}" for on in ON for way in WAYS))
    if len(found.found) > LISTED:
        table.caption = f"and {words.count(len(found.found) - LISTED, 'more seed')}, see --json"
    return table


def _apart(found: WaysReport) -> Table:
    """Differences seed by seed."""
    headings = ("seed by seed", "on", "difference", "relative", "seeds", "chance")
    table = terminal.table(headings, right=headings[2:], no_wrap=True)
    for apart in found.pairs:
        table.add_row(
            f"{sentences.NAMES[apart.one]} - {sentences.NAMES[apart.other]}",
            apart.on.replace("_", "-"),
            sentences.difference(apart).removesuffix(" points"),
            sentences.relative(apart),
            f"{apart.better} of {len(apart.differences)}",
            words.percent(apart.chance),
        )
    return table
