"""How the certificates and the fx commands of a federation read, on pages and in terminals: cells of their tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from workshop.core import words

Told = Mapping[str, Any]

NOTHING = "–"
CERTIFICATES = ("Of", "Subject", "Issued by", "Valid until", "Accepted")  # headings of `certificate`
COMMANDS = ("Where", "Took", "Exit", "Command")  # headings of `command`
_CN = re.compile(r"(?:^|[,/;\s])CN\s*=\s*([^,/;]+)", re.I)


def records(told: Any) -> list[Told]:
    """The records in a metric; what is no record is left out."""
    return [one for one in told if isinstance(one, Mapping)] if isinstance(told, Sequence) else []


def certificate(one: Told) -> list[str]:
    """Cells of a certificate: nothing else that may be in the record, least of all a key."""
    subject, issuer = common_name(one.get("subject")), common_name(one.get("issuer"))
    return [str(one.get("name") or NOTHING), subject, issuer, until(one), accepted(one)]


def command(one: Told) -> list[str]:
    """Where it was run, how long it took, its exit code, and its words."""
    return [str(one.get("where") or NOTHING), took(one), code(one), str(one.get("command") or NOTHING)]


def common_name(name: Any) -> str:
    """The common name within a distinguished name (`CN=inst1, O=…`), or all of it where it has none."""
    text = str(name or "")
    found = _CN.search(text)
    return found[1].strip() if found else text or NOTHING


def good(certificates: Sequence[Told]) -> list[Told]:
    """Those that were accepted."""
    return [one for one in certificates if one.get("accepted")]


def authorities(certificates: Sequence[Told]) -> list[str]:
    """Who has signed those that were accepted."""
    return list(dict.fromkeys(common_name(one.get("issuer")) for one in good(certificates)))


def foreign(one: Told, everybody: Sequence[Told]) -> bool:
    """Whether a certificate is of another authority than those that were accepted."""
    trusted = authorities(everybody)
    return bool(trusted) and common_name(one.get("issuer")) not in trusted


def until(one: Told) -> str:
    """The day until which a certificate is valid."""
    end = _end(one)
    return NOTHING if end is None else end.date().isoformat()


def expired(one: Told, when: float) -> bool:
    """Whether a certificate wasn't valid any longer at that time, in seconds since the epoch."""
    end = _end(one)
    return end is not None and end.timestamp() < when


def _end(one: Told) -> datetime | None:
    """When it expires, from seconds since the epoch or an ISO date; None where it doesn't tell."""
    expires = one.get("expires")
    try:
        if isinstance(expires, str):
            found = datetime.fromisoformat(expires)
            return found if found.tzinfo else found.replace(tzinfo=UTC)
        return datetime.fromtimestamp(expires, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def accepted(one: Told) -> str:
    """Whether a certificate was accepted, and why not."""
    if one.get("accepted"):
        return "yes"
    why = str(one.get("why") or "").strip()
    if one.get("accepted") is None:
        return why or "not shown yet"
    return f"no: {why}" if why else "no"


def took(one: Told) -> str:
    """How long a command took; empty while it runs."""
    seconds = one.get("seconds")
    return words.seconds(seconds) if isinstance(seconds, int | float) and one.get("code") is not None else ""


def code(one: Told) -> str:
    """A command's exit code, the signal that ended it, or that it runs."""
    value = one.get("code")
    if not isinstance(value, int):
        return "runs"
    return f"signal {-value}" if value < 0 else str(value)


def killed(one: Told) -> bool:
    """Whether a signal ended a command; shells and wrappers tell that as 128 and the signal's number."""
    value = one.get("code")
    return isinstance(value, int) and (value < 0 or value > 128)


def starts(one: Told, who: str) -> bool:
    """Whether a command starts an aggregator or a collaborator."""
    return f"{who} start" in str(one.get("command") or "")
