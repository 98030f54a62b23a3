"""Runs that did not complete: `rules.yaml` says what their verdicts are; here are the facts that it uses."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from workshop.core import words
from workshop.core.disk import NO_ROOM
from workshop.core.errors import OUT_OF_MEMORY
from workshop.report import rules
from workshop.report.activity import duration
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts
from workshop.report.analysis.findings import facts as facts_of
from workshop.report.rules import LINE_BREAK
from workshop.store.records import RunRecord

LONG = 400  # characters of somebody else's words; the run's error has all of them

# Types of the errors of runs that ran out of memory; the last two are of runs that earlier versions have kept.
MEMORY = (OUT_OF_MEMORY, "MemoryLimit", "MemoryError")
# Types of errors whose messages are the platform's own sentences.
OURS = (
    *("EnginesFailed", "RanksNotStarted", "EnginesDied", "RankDied", "RankSilent", "ConductorSilent"),
    *("ConductorTerminated", "ControllerDied", "RankServerDied", "SiteLost", "TimeLimit", "BadInput", NO_ROOM),
    *("SessionStopped", "SessionReset", *MEMORY),
)
# Params by which a rank needs less memory, and whether half of a value is one that means something.
_SMALLER: Mapping[str, Callable[[int, Mapping[str, Any]], bool]] = {
    "batch": lambda value, params: value > 1 and params.get("mode") != "batch",
    "size": lambda value, params: value > 28,  # images' sides; there are none smaller
    "points": lambda value, params: value > 1 and params.get("data") == "blobs",
}


def ending(run: RunRecord, totals: Totals) -> dict[str, str] | None:
    """Verdict, why and next of a run that didn't complete, or has not begun; None for others."""
    if run.status in ("running", "completed"):
        return None
    ending_rules = rules.read(__name__)
    named = rules.context(ending_rules, facts_of(run, totals), totals)
    finding = next(finding for _, finding in rules.holding(ending_rules.outcome, named))
    following = " ".join(filter(None, (finding.following, named.get("resume"))))
    return {"verdict": finding.verdict, "why": named["why"].replace(LINE_BREAK, "\n"), "next": following}


def facts(facts: Facts, totals: Totals) -> dict[str, Any]:
    """All of them; None for what the run doesn't tell."""
    run, error = facts.run, facts.run.error or {}
    return {
        "run": run.id,
        "error": error,
        "ours": error.get("type") in OURS,
        "out_of_memory": error.get("type") in MEMORY,
        "message": _message(error),
        "place": _place(error.get("traceback") or ""),
        "smaller": _smaller(run),
        "started": run.started_at is not None,
        "seconds": duration(run),
        "progress": run.progress,
        "checkpoint": _has_checkpoint(run, totals),
    }


def _has_checkpoint(run: RunRecord, totals: Totals) -> bool:
    """Whether the run wrote a checkpoint, and nothing that it wrote was refused for its size."""
    written = any(total.number > 0 for total in (totals.get("time.checkpoint") or {}).values())
    return written and not any("can be kept" in notice or "too large" in notice for notice in run.notices)


def failure_words(run: RunRecord) -> str:
    """Say where a run went wrong and of what; "" where nothing went wrong, or where the verdict says it all."""
    error = run.error
    if not error or run.status == "cancelled":
        return ""
    message = error["message"] if error.get("type") in OURS else f"{error['type']}: {error['message']}"
    ranked = error.get("rank") is not None
    return f"Rank {error['rank']} on {error['host']}: {message}" if ranked else words.capital(message)


def _smaller(run: RunRecord) -> list[str]:
    """What to halve so that the ranks need less memory."""
    ranks = run.placement.get("ranks")
    halves = {
        name: f"with half the {name} (--{name} {value // 2})"
        for name, fits in _SMALLER.items()
        if type(value := run.params.get(name)) is int and fits(value, run.params)
    }
    several = isinstance(ranks, int) and ranks > 1 and "points" not in halves  # they are as many on fewer ranks
    return [*([f"on {words.ranks(ranks // 2)}"] if several and ranks else []), *halves.values()]


def _place(traceback: str) -> str | None:
    """The innermost line of a Python traceback, in words."""
    places = re.findall(r'(?m)^\s*File "(?:.*/)?([^"/]+)", (line \d+)', traceback)
    return f"{places[-1][1]} of {places[-1][0]}" if places else None


def _message(error: Mapping[str, Any]) -> str:
    """The error's own words, at most `LONG` characters; the lines of an MPI's own text stay lines."""
    text = (error.get("message") or "").strip().rstrip(".")
    if error.get("type") != "EnginesFailed":
        text = " ".join(text.split())
    return (text if len(text) <= LONG else f"{text[:LONG].rpartition(' ')[0]} …").replace("\n", LINE_BREAK)
