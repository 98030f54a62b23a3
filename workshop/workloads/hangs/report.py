"""The verdict on a program that hangs, and its card: the ranks, and the program with the lines where they are."""

from __future__ import annotations

from workshop.core import words as say
from workshop.extension import Panel
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.cards import Card, code, table
from workshop.report.snapshot import Snapshot
from workshop.workloads.hangs.diagnosis import cause
from workshop.workloads.hangs.states import PROGRAM, marked, rows


def outcome(facts: Facts) -> Finding | None:
    """Why the ranks wait; None without a result."""
    metrics = facts.metrics
    seconds = (metrics.get("seconds") or {}).get("still")
    if "kind" not in metrics:
        return None
    if not metrics["kind"] or seconds is None:
        why = "The program ended, or was ended, before its ranks had stood still for long enough."
        return Finding("No hang was seen.", why, "Run it again, and let the doctor look sooner (--after 1).")
    still = "" if metrics["hang"] else " The ranks may still go on, so the program was interrupted."
    return Finding(
        f"{cause(metrics['kind'], metrics['ranks'])}.",
        f"{metrics['sentence']} Nothing had moved for {say.seconds(seconds)}.{still}",
        metrics["fix"],
    )


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
