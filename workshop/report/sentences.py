"""How pages word things, and how messages are written: shared by live pages and Streamlit's."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from workshop.core import words
from workshop.core.documents import finite
from workshop.core.forms import named
from workshop.extension import MOST_RESULTS
from workshop.registry import workloads
from workshop.report.activity import duration
from workshop.report.analysis import findings
from workshop.store.records import RunRecord, SessionRecord

LONGEST_VALUE = 24  # characters that fit into a tile
_HASH = re.compile(r"[0-9a-f]{32,}")
STATUS = {status: status for status in ("running", "completed", "failed", "cancelled", "interrupted")}
STATUS["queued"] = "waiting"
SESSION = {
    "starting": "Starting its ranks.",
    "ready": "Ready: the next run starts at once.",
    "running": "Busy with a run.",
    "restarting": "Starting new ranks.",
    "stopped": "Stopped.",
    "failed": "Failed.",
    "recorded": "Recorded: this is how it was left.",
    "lost": "Lost: its conductor has fallen silent. The instructor stops it, then launches it again.",
}
MEANWHILE = (
    "The instructor launches a session on the page Session. Until then, All runs shows what has run, and the page "
    "Quiz has questions to learn from."
)


def dumps(value: Any) -> str:
    """Compact JSON for browsers; infinite values and NaN become null."""
    return json.dumps(finite(value), separators=(",", ":"))


def who(run: RunRecord) -> str:
    """The person who submitted a run; the machine's owner for the command line and their notebooks."""
    return run.submitted_by or "this machine"


def public_view(run: RunRecord) -> RunRecord:
    """A run for everybody's eyes, without paths of the owner's files and of installed programs."""
    workload, error = workloads().get(run.workload), run.error
    if error is not None and error.get("traceback"):
        error = {**error, "traceback": short_traceback(error["traceback"])}
    return replace(run, params=named(workload.params if workload else None, run.params), error=error)


def changed(workload: str, params: Mapping[str, Any]) -> list[str]:
    """Params that aren't at the workload's defaults, each with its value, as everybody may see them."""
    model = workloads()[workload].params if workload in workloads() else None
    fields, public = model.model_fields if model else {}, named(model, params)
    same = {name for name, value in params.items() if name in fields and fields[name].default == value}
    return [f"{name} {public[name]}" for name in params if name not in same]


def took(run: RunRecord) -> str:
    """How long a run took; "" while it hasn't ended, or where it never started."""
    seconds = duration(run)
    return "" if seconds is None else words.seconds(seconds)


def state_words(session: SessionRecord) -> str:
    """One sentence: what the session is doing."""
    if not session.message:
        return SESSION[session.state]
    message = words.capital(session.message)
    return message if message.endswith((".", "!", "?")) else f"{message}."


def rest_words(session: SessionRecord | None) -> str:
    """Why nothing can run in a session, and what everybody can do meanwhile; "" where runs are taken."""
    if session is not None and session.up:
        return ""
    if session is not None and session.state == "recorded":
        return "Nothing can be run in a recording."
    why = f"Session {session.name} is {session.state}" if session is not None else "No session is up"
    return f"{why}, so nothing can run now. {MEANWHILE}"


def waits_for(session: SessionRecord, run: RunRecord) -> str:
    """The sentence that says for whom a run waits that is to be measured; "" where it waits for its turn alone."""
    return session.message if run.status == "queued" and run.measured and session.state == "ready" else ""


def waiting(seconds: float | None) -> str:
    """An expected wait, rounded."""
    if seconds is None:
        return "not known yet"
    if seconds < 5:
        return "in a few seconds"
    return f"about {5 * round(seconds / 5)} s" if seconds < 90 else f"about {round(seconds / 60)} min"


def metrics_of(run: RunRecord) -> list[dict[str, str]]:
    """The results of a run, as `metrics` labels them: first the results that its workload names."""
    return [metric for part in metrics_in_two(run) for metric in part]


def metrics_in_two(run: RunRecord, told_elsewhere: Collection[str] = ()) -> tuple[list[dict[str, str]], ...]:
    """The results of a run, as `metrics` labels them: first the important ones, then the rest. Where a workload names
    no results, its first metrics count."""
    workload = workloads().get(run.workload)
    called = workload.metrics if workload is not None else {}
    results = [name for name in (workload.results if workload is not None else ()) if name in run.metrics]
    ordered = [name for name in dict.fromkeys((*results, *run.metrics)) if name not in told_elsewhere]
    leading = [name for name in ordered if name in results]
    labelled = metrics({name: run.metrics[name] for name in ordered}, called)
    most = len(metrics({name: run.metrics[name] for name in leading}, called)) or MOST_RESULTS
    return labelled[:most], labelled[most:]


def metrics(values: Mapping[str, Any], called: Mapping[str, str] | None = None) -> list[dict[str, str]]:
    """Metrics as labels, values and, where a value is rounded, the exact one; `called` are the workload's words,
    with a unit in brackets: `throughput [images/s]`. A mapping's values carry its name before their own, but for
    `seconds`, of which those that took no time are left out."""
    labelled = []
    for name, value in values.items():
        inner = value.items() if isinstance(value, Mapping) else [("", value)]
        for part, single in inner:
            timed = name == "seconds" and findings.number(single)
            if timed and part and not single:
                continue
            full_name = f"{name}.{part}" if part else name
            usual = (part or name) if timed else f"{name} {part}".strip()
            usual = usual.replace("held_out", "held-out").replace("bytes", "size").replace("_", " ")
            label, _, unit = (called or {}).get(full_name, usual).partition(" [")
            unit = unit.removesuffix("]") or ("s" if timed else unit_of(part or name))
            text = value_words(single, unit)
            if text is not None:
                exact = words.exact(_scaled(single, unit), unit) if findings.number(single) else text
                labelled.append({"label": label, "value": text, "exact": exact if exact != text else ""})
    return labelled


def unit_of(name: str) -> str:
    """The unit that a metric's name implies."""
    if name.endswith(("accuracy", "share")) or name == "target":
        return "%"
    return "B" if name.startswith("bytes") else "s" if name.startswith("time_to") else ""


def value_words(value: Any, unit: str) -> str | None:
    """One metric as people read it, a share as a percentage; None for lists, hashes and other things that say nothing
    on a line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return words.quantity(_scaled(value, unit), unit)
    return value if isinstance(value, str) and not _HASH.fullmatch(value) else None


def _scaled(value: float, unit: str) -> float:
    return 100 * value if unit == "%" else value


_FILE = re.compile(r'(?m)^(\s*(?:\|\s*)*File ")([^"\n]+)(")')
# Where packages begin: site-packages, or the standard library's folder.
_PACKAGES = re.compile(r".*/(?:site-packages|dist-packages|python3\.\d+)/(.+)")
_OURS = f"{Path(__file__).parents[2]}/"


def short_traceback(traceback: str) -> str:
    """A traceback in which paths begin with the package, or are the file's name alone."""
    return _FILE.sub(lambda match: match[1] + _short(match[2]) + match[3], traceback)


def _short(path: str) -> str:
    if (in_packages := _PACKAGES.fullmatch(path)) is not None:
        return in_packages[1]
    return path.removeprefix(_OURS) if path.startswith(_OURS) else path.rpartition("/")[2]
