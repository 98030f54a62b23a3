"""How pages word things, and how messages are written: shared by live pages and Streamlit's."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import workshop
from workshop.core import words
from workshop.core.documents import finite
from workshop.core.forms import named
from workshop.registry import workloads
from workshop.report.figures.curves import number
from workshop.store.records import Lease, RunRecord, SessionRecord

# How names of metrics are read, in this order.
_READ = (
    ("images_per_second", "throughput"),
    ("telling_share", "time spent on telling this"),
    ("threads_seconds", "seconds of counting threads"),
    ("held_out", "held-out"),
    ("bytes", "size"),
    ("_", " "),
)
LONGEST_VALUE = 24  # characters that fit into a tile
_HASH = re.compile(r"[0-9a-f]{32,}")
STATUS = {
    "queued": "waiting",
    "running": "running",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "cancelled",
    "interrupted": "interrupted",
}
SESSION = {
    "starting": "Starting its ranks.",
    "ready": "Ready: the next run starts at once.",
    "running": "Busy with a run.",
    "leased": "A notebook has the ranks.",
    "restarting": "Starting new ranks.",
    "stopped": "Stopped.",
    "failed": "Failed.",
    "recorded": "Recorded: this is how it was left.",
    "lost": "Lost: its conductor has fallen silent. Stop it, then launch it again.",
}


def dumps(value: Any) -> str:
    """Compact JSON for browsers; infinite values and NaN become null."""
    return json.dumps(finite(value), separators=(",", ":"))


def who(run: RunRecord) -> str:
    """The person who submitted a run; the machine's owner for the command line and their notebooks."""
    return run.submitted_by or "this machine"


def seen(run: RunRecord) -> RunRecord:
    """A run for everybody's eyes, without paths of the owner's files and of installed programs."""
    known = workloads().get(run.workload)
    error = run.error
    if error is not None and isinstance(error.get("traceback"), str):
        error = {**error, "traceback": short_traceback(error["traceback"])}
    return replace(run, params=named(known.params if known else None, run.params), error=error)


def changed(workload: str, params: Mapping[str, Any]) -> list[str]:
    """Params that aren't at the workload's defaults, each with its value, as everybody may see them."""
    known = workloads().get(workload)
    fields = known.params.model_fields if known is not None else {}
    shown = named(known.params if known is not None else None, params)
    return [
        f"{name} {shown[name]}" for name, value in params.items() if name not in fields or fields[name].default != value
    ]


def took(run: RunRecord) -> str:
    """How long a run took; "" while it hasn't ended, or where it never started."""
    if run.started_at is None or run.finished_at is None:
        return ""
    return words.seconds(max(run.finished_at - run.started_at, 0.0))


def state_words(session: SessionRecord) -> str:
    """One sentence: what the session is doing."""
    plain = SESSION[session.state]
    if not session.message:
        return plain
    message = session.message[0].upper() + session.message[1:]
    return message if message.endswith((".", "!", "?")) else f"{message}."


def turn_words(position: int, before: Lease | None, seconds: float | None) -> str:
    """When a queued run is likely to begin; `before` is who has, or gets, the ranks until then."""
    if before is None:
        return f"Number {position} in the queue, expected to start: {waiting(seconds)}."
    has = "has the ranks" if before.state == "held" else "gets the ranks first"
    return f"Number {position} in the queue, after {before.holder}, which {has}."


def waiting(seconds: float | None) -> str:
    """An expected wait, rounded."""
    if seconds is None:
        return "not known yet"
    if seconds < 5:
        return "any moment"
    if seconds < 90:
        return f"about {5 * round(seconds / 5)} s"
    return f"about {round(seconds / 60)} min"


def metrics_of(run: RunRecord, told_elsewhere: Collection[str] = ()) -> list[dict[str, str]]:
    """What a run came to, as `metrics` has it: the results that its workload names first."""
    known = workloads().get(run.workload)
    results = [name for name in (known.results if known else ()) if name in run.metrics]
    ordered = {name: run.metrics[name] for name in (*results, *run.metrics)}
    return metrics({name: value for name, value in ordered.items() if name not in told_elsewhere})


def metrics(told: Mapping[str, Any]) -> list[dict[str, str]]:
    """Metrics as labels and values: single numbers, words and yes or no, in their order.

    A mapping's values carry its name before their own, but for `seconds`, whose values say enough by their unit.
    """
    shown = []
    for name, value in told.items():
        inner = value.items() if isinstance(value, Mapping) else [("", value)]
        for part, single in inner:
            timed = name == "seconds" and _is_number(single)
            text = words.seconds(single) if timed else value_words(part or name, single)
            if text is not None:
                shown.append({"label": _label((part or name) if timed else f"{name} {part}".strip()), "value": text})
    return shown


def _label(name: str) -> str:
    for written, read in _READ:
        name = name.replace(written, read)
    return name


def value_words(name: str, value: Any) -> str | None:
    """One metric as people read it, with the unit that its name implies; None for lists, hashes and other things that
    say nothing on a line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number_words(name, value)
    return value if isinstance(value, str) and not _HASH.fullmatch(value) else None


def _number_words(name: str, value: float) -> str:
    if not math.isfinite(value):
        return "not a number"
    if name.startswith("bytes"):
        return words.size(value)
    if name.startswith("images_per_second"):
        return f"{number(value)} images/s"
    if name.startswith("time_to"):
        return words.seconds(value)
    if name.endswith(("accuracy", "share")) or name == "target":
        return f"{100 * value:.3g} %"
    return words.thousands(value) if isinstance(value, int) else number(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


_FILE = re.compile(r'(?m)^(\s*(?:\|\s*)*File ")([^"\n]+)(")')
# Where packages begin: site-packages, or the standard library's folder.
_PACKAGES = re.compile(r".*/(?:site-packages|dist-packages|python3\.\d+)/(.+)")
_OURS = f"{Path(workshop.__file__).parent.parent}/"


def short_traceback(traceback: str) -> str:
    """A traceback in which paths begin with the package, or are the file's name alone."""
    return _FILE.sub(lambda found: found[1] + _short(found[2]) + found[3], traceback)


def _short(path: str) -> str:
    if (in_packages := _PACKAGES.fullmatch(path)) is not None:
        return in_packages[1]
    return path.removeprefix(_OURS) if path.startswith(_OURS) else path.rpartition("/")[2]
