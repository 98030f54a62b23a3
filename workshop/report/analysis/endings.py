"""Verdicts on runs that did not complete, and what to try next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workshop.core import words
from workshop.core.disk import NO_ROOM
from workshop.core.errors import OUT_OF_MEMORY
from workshop.report.activity import duration
from workshop.report.analysis.balance import Totals
from workshop.store.records import RunRecord

LONG = 400  # characters of somebody else's words; the run's error has all of them

# By the type of the error: the verdict, and what to try next.
_VERDICTS = {
    "EnginesFailed": (
        "The ranks did not start.",
        "Ask for what the machine has: fewer ranks, or one core for each, placed automatically (--map-by auto "
        "--bind-to auto --cores-per-rank 1).",
    ),
    "RanksNotStarted": (
        "The ranks did not start.",
        "Start it again; if it ends the same way, see what else keeps the machine busy, or take fewer ranks.",
    ),
    "EnginesDied": (
        "The ranks ended in the middle of the run.",
        f"Start it again; if it ends the same way, try {words.ranks(1)} and less data.",
    ),
    "RankSilent": (
        "A rank fell silent in the middle of the run.",
        "Start the run again; the session brings up new ranks by itself.",
    ),
    "ConductorSilent": (
        "The ranks ended: they heard nothing of their session any longer.",
        "Start the run again; if it ends the same way, see what else keeps the machine busy.",
    ),
    "ControllerDied": (
        "The session lost its controller in the middle of the run.",
        "Start the run again; the session brings up new ranks by itself.",
    ),
    "RankServerDied": (
        "The process from which the session forks its ranks ended in the middle of the run.",
        "Start the run again; the session brings up new ranks by itself.",
    ),
    "SiteLost": (
        "The place where the ranks ran is gone.",
        "The session has ended with it: start it again where all hosts are there, then the run.",
    ),
    "TimeLimit": (
        "The run took longer than allowed.",
        "Ask for less work, or have the instructor raise the session's limit of minutes.",
    ),
    NO_ROOM: (
        "There is no room left on the disk.",
        "Free some space on that disk, or set WORKSHOP_HOME to a folder on another one; then start the run again.",
    ),
    "BadInput": ("The run was given something it can't use.", "Change that setting and start it again."),
    "SessionStopped": (
        "Cancelled: the session was stopped.",
        "Start the run again when the session is up; the instructor launches it on the page Session.",
    ),
    "SessionReset": ("Cancelled: the instructor reset the session.", "Start the run again when the session is ready."),
}

# Types of the errors of runs that ran out of memory; the last two are of runs that earlier versions have kept.
MEMORY = (OUT_OF_MEMORY, "MemoryLimit", "MemoryError")
# Params by which a rank needs less memory, and whether half of a value is one that means something.
_SMALLER: Mapping[str, Callable[[int, Mapping[str, Any]], bool]] = {
    "batch": lambda value, params: value > 1 and params.get("mode") != "batch",
    "size": lambda value, params: value > 28,  # images' sides; there are none smaller
    "points": lambda value, params: value > 1 and params.get("data") == "blobs",
}


def ending(run: RunRecord, totals: Totals) -> dict[str, str] | None:
    """Verdict, why and next of a run that failed, was cancelled or interrupted, or has not begun; None for others.
    `totals` are its events'."""
    message = _ending(run)
    if message is not None and _has_checkpoint(run, totals):
        message["next"] = f"{message['next'].rstrip('.')}. Or go on from its checkpoint (--resume {run.id})."
    return message


def _has_checkpoint(run: RunRecord, totals: Totals) -> bool:
    """Whether the run wrote a checkpoint, and nothing that it wrote was refused for its size."""
    written = any(total.number > 0 for total in (totals.get("time.checkpoint") or {}).values())
    return written and not any("can be kept" in notice or "too large" in notice for notice in run.notices)


def failure_words(run: RunRecord) -> str:
    """Say where a run went wrong and of what; "" where nothing went wrong, or where the verdict says it all. Only
    errors that a program has raised have the name of their type."""
    error = run.error
    if not error or run.status == "cancelled":
        return ""
    message = error["message"] if _is_ours(error) else f"{error['type']}: {error['message']}"
    return f"Rank {error['rank']} on {error['host']}: {message}" if _has_rank(error) else words.capital(message)


def _is_ours(error: Mapping[str, Any]) -> bool:
    return error.get("type") in (*_VERDICTS, "RankDied", "ConductorTerminated", *MEMORY)


def _ending(run: RunRecord) -> dict[str, str] | None:
    if run.status == "queued":
        return _words("Not started yet.", "The run waits for its turn.", "Watch the queue on the session's page.")
    if run.status == "interrupted":
        return _words(
            "Interrupted: the session's conductor ended during the run.",
            f"{_until(run)}{_kept_results(run)}",
            "Start the run again when the session is up; the instructor launches it on the page Session.",
        )
    error = run.error or {}
    by_error = _out_of_memory(run) if error.get("type") in MEMORY else _VERDICTS.get(error.get("type", ""))
    if run.status == "cancelled":
        verdict, following = by_error or ("Cancelled.", "Start it again, or with fewer steps if it took too long.")
        if run.started_at is None:
            return _words(verdict, "It was cancelled while it waited, so no rank has worked on it.", following)
        return _words(verdict, f"{_until(run)}{_kept_results(run)}", following)
    if run.status == "failed":
        verdict, following = by_error or _failure(error)
        ran = "" if error.get("type") in ("EnginesFailed", "RanksNotStarted") else _until(run)
        return _words(verdict, f"{_because(error)} {ran}".strip(), following)
    return None


def _words(verdict: str, why: str, following: str) -> dict[str, str]:
    return {"verdict": verdict, "why": why, "next": following}


def _failure(error: Mapping[str, Any]) -> tuple[str, str]:
    """The verdict and the next step for a rank that died or raised an error."""
    kind = error.get("type") or "an error without a name"
    who = f"Rank {error['rank']}" if _has_rank(error) else "The run"
    if kind == "RankDied":
        return (
            f"{who} died.",
            "A rank that gets SIGKILL without anybody sending it was usually ended by the kernel for want of memory: "
            "try fewer ranks or less data. After SIGSEGV or SIGABRT look into the session's log.",
        )
    where = _line(error.get("traceback") or "")
    return f"{who} failed with {kind}.", f"Look at {where}; {words.ranks(1)} shows whether it takes several to fail."


def _out_of_memory(run: RunRecord) -> tuple[str, str]:
    """The verdict and the next step where ranks needed too much memory: half of the setting that it grows with."""
    ranks = run.placement.get("ranks")
    smaller = {
        name: f"with half the {name} (--{name} {value // 2})"
        for name, fits in _SMALLER.items()
        if type(value := run.params.get(name)) is int and fits(value, run.params)
    }
    ways = [*smaller.values()]
    if isinstance(ranks, int) and ranks > 1 and "points" not in smaller:  # they are as many on fewer ranks
        ways.insert(0, f"on {words.ranks(ranks // 2)}")
    if not ways:
        return "Out of memory.", "Start it again with less data, or where there is more memory."
    either = " or ".join([", ".join(ways[:-1]), ways[-1]]).removeprefix(" or ")
    return "Out of memory.", f"Start it again {either}: what every rank holds for itself adds up."


def _because(error: Mapping[str, Any]) -> str:
    """The error's own words, as sentences."""
    message = (error.get("message") or "").strip()
    if error.get("type") != "EnginesFailed":  # the lines of an MPI's own text belong to it
        message = " ".join(message.split())
    message = message.rstrip(".")
    if not message:
        return ""
    if len(message) > LONG:
        message = f"{message[:LONG].rpartition(' ')[0]} …"
    if _is_ours(error):
        return f"{words.capital(message)}."
    stopped = " The other ranks were stopped: they would have waited for it for ever." if _has_rank(error) else ""
    return f"It said: {message}.{stopped}"


def _has_rank(error: Mapping[str, Any]) -> bool:
    return error.get("rank") is not None


def _line(traceback: str) -> str:
    """The innermost line of a Python traceback, in words."""
    for text in reversed(traceback.splitlines()):
        text = text.strip()
        if text.startswith("File ") and ", line " in text:
            file, line, *_ = text.removeprefix("File ").split(", ")
            return f"{line} of {file.strip(chr(34)).rpartition('/')[2]}, where it happened"
    return "its traceback"


def _until(run: RunRecord) -> str:
    """How long it ran and how far it came."""
    seconds = duration(run)
    if seconds is None:
        return ""
    ran = f"It ran for {words.seconds(seconds)}"
    if run.progress is None or run.progress[1] <= 0:
        return f"{ran}."
    done, total = run.progress
    return f"{ran} and had done {done:g} of {total:g} steps."


def _kept_results(run: RunRecord) -> str:
    return " What it had told until then is kept." if run.started_at is not None else ""
