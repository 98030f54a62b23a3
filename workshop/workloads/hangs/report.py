"""The facts of the verdict on a hang, and its card: the ranks, and the program with the lines where they are."""

from __future__ import annotations

from typing import Any

from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts
from workshop.report.cards import Card, code, table
from workshop.report.snapshot import Panel, Snapshot
from workshop.workloads.hangs.diagnosis import cause
from workshop.workloads.hangs.states import PROGRAM, marked, rows


def facts(facts: Facts, totals: Totals) -> dict[str, Any]:
    """Why the ranks wait, in words, and whether the run has a result."""
    kind = facts.metrics.get("kind")
    return {"cause": cause(kind, facts.metrics["ranks"]) if kind else None, "ended": "kind" in facts.metrics}


def diagnosed(snapshot: Snapshot) -> list[Card]:
    """The ranks and the program; nothing before the program is known."""
    if PROGRAM not in snapshot.artifacts:
        return []
    states = rows(snapshot.metric("lines", list) or [])
    program = code(marked(snapshot.read(PROGRAM).decode(errors="replace"), states))
    if not states:
        return [Card("hang", "The program", (program,))]
    ranks = table(["Rank", "what it does", "where"], states)
    return [Card("hang", "Where the ranks are", (ranks, program))]


PANELS = (
    Panel(
        "hang",
        diagnosed,
        lambda snapshot: (snapshot.version(PROGRAM), snapshot.run.status),
        comparison=diagnosed,
        metrics=("sentence", "fix", "lines", "hang"),
    ),
)
