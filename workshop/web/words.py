"""How pages word things, and how messages are written: shared by live pages and Streamlit's."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from workshop.analysis import words
from workshop.documents import finite
from workshop.figures.curves import number
from workshop.store.records import RunRecord, SessionRecord

# How names of metrics are read, in this order.
_READ = (("images_per_second", "throughput"), ("held_out", "held-out"), ("bytes", "size"), ("_", " "))
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
    "restarting": "Starting new ranks.",
    "stopped": "Stopped.",
    "failed": "Failed.",
    "lost": "Lost: its conductor has fallen silent. Stop it, then launch it again.",
}


def dumps(value: Any) -> str:
    """Compact JSON that browsers can read: what is no number becomes null."""
    return json.dumps(finite(value), separators=(",", ":"))


def who(run: RunRecord) -> str:
    """Who submitted a run."""
    return run.submitted_by or "command line"


def state_words(session: SessionRecord) -> str:
    """One sentence: what the session is doing."""
    plain = SESSION[session.state]
    if not session.message:
        return plain
    message = session.message[0].upper() + session.message[1:]
    return message if message.endswith((".", "!", "?")) else f"{message}."


def waiting(seconds: float | None) -> str:
    """An expected wait, as coarse as it is uncertain."""
    if seconds is None:
        return "not known yet"
    if seconds < 5:
        return "any moment"
    if seconds < 90:
        return f"about {5 * round(seconds / 5)} s"
    return f"about {round(seconds / 60)} min"


def grouped(count: int) -> str:
    """A whole number with its thousands apart: 60 000."""
    return f"{count:,}".replace(",", "\u202f")


def metrics(told: Mapping[str, Any]) -> list[dict[str, str]]:
    """What a run came to, as labels and values: its single numbers, words and yes or no, in the order it told them.

    A mapping's values carry its name before their own, but for `seconds`, whose values say enough by their unit.
    """
    shown = []
    for name, value in told.items():
        inner = value.items() if isinstance(value, Mapping) else [("", value)]
        for part, single in inner:
            timed = name == "seconds" and _is_number(single)
            text = words.seconds(single) if timed else value_words(part or name, single)
            if text is not None:
                shown.append({"label": _label(part if timed else f"{name} {part}".strip()), "value": text})
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
    return grouped(value) if isinstance(value, int) else number(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
