"""The verdict on a program that hangs, and its card: the ranks, and the program with the lines where they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workshop.core import words as say
from workshop.extension import Panel, Verdict
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.cards import Card, code, table
from workshop.report.snapshot import Snapshot
from workshop.workloads.hangs.states import PROGRAM, marked, rows

# What the ranks that are the cause have, by kind of the diagnosis.
CAUSES: Mapping[str, str] = {
    "missing-from-collective": "a collective call that is missing",
    "other-collective": "another collective call than the others",
    "other-root": "another root than the others",
    "other-op": "another operation than the others",
    "other-size": "another size or type than the others",
    "other-communicator": "calls on another communicator",
    "send-without-receive": "a send without a receive",
    "receive-without-send": "a receive without a send",
    "tag-mismatch": "a send and a receive with different tags",
    "wrong-peer": "a message from or to the wrong rank",
    "circular-sends": "sends in a circle",
    "circular-receives": "receives in a circle",
    "circular-wait": "calls in a circle",
    "ended": "an end before the calls of the others",
    "raised": "an exception",
    "stopped": "a signal that has stopped the process",
    "input": "input that nobody types",
    "lock": "a lock inside the process",
    "file-lock": "a lock on a file",
    "spawned": "processes that are the same rank again",
    "other-job": "a wait for another job",
    "wait-for-request": "a request that nobody completes",
    "probe": "a probe for a message that doesn't come",
    "computing": "a computation",
    "sleeping": "a sleep",
    "pipe": "another process that gives no data",
    "unseen": "calls that can't be seen",
    "unknown": "an unknown reason",
}


def cause(kind: str, ranks: Sequence[int]) -> str:
    """Ranks and what they have, such as "Ranks 0 and 1: receives in a circle"."""
    return f"{say.capital(say.numbered('rank', ranks))}: {CAUSES.get(kind, kind)}"


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


VERDICT = Verdict(outcome, first=True, checks=lambda facts: ())
PANELS = (
    Panel(
        "hang",
        diagnosed,
        lambda snapshot: (snapshot.version(PROGRAM), snapshot.run.status),
        comparison=diagnosed,
        metrics=("sentence", "fix", "lines", "hang"),
    ),
)
