"""The certificates and the fx commands of a federation as cells of tables, for pages and terminals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from workshop.core import words

Record = Mapping[str, Any]

NOTHING = "–"
CERTIFICATES = ("Of", "Subject", "Issued by", "Valid until", "Accepted")  # headings of `certificate`
COMMANDS = ("Where", "Took", "Exit", "Command")  # headings of `command`
_CN = re.compile(r"(?:^|[,/;\s])CN\s*=\s*([^,/;]+)", re.I)


def records(metric: Any) -> list[Record]:
    """Return the records in a metric; other values are left out."""
    return [record for record in metric if isinstance(record, Mapping)] if isinstance(metric, Sequence) else []


def certificate(record: Record) -> list[str]:
    """Return the cells of a certificate. Nothing else in the record is shown, least of all a key."""
    names = [common_name(record.get(part)) for part in ("subject", "issuer")]
    why = str(record.get("why") or "").strip()
    if record.get("accepted"):
        accepted = "yes"
    elif record.get("accepted") is None:
        accepted = why or "not shown yet"
    else:
        accepted = f"no: {why}" if why else "no"
    return [str(record.get("name") or NOTHING), *names, until(record), accepted]


def command(record: Record) -> list[str]:
    """Return where a command was run, how long it took, its exit code, and its words."""
    seconds, ended = record.get("seconds"), record.get("code") is not None
    took = words.seconds(seconds) if isinstance(seconds, int | float) and ended else ""
    return [str(record.get("where") or NOTHING), took, code(record), str(record.get("command") or NOTHING)]


def common_name(name: Any) -> str:
    """Return the common name within a distinguished name (`CN=inst1, O=…`), or all of it where it has none."""
    text = str(name or "")
    match = _CN.search(text)
    return match[1].strip() if match else text or NOTHING


def accepted_of(certificates: Sequence[Record]) -> list[Record]:
    """Return the certificates that were accepted."""
    return [record for record in certificates if record.get("accepted")]


def authorities(certificates: Sequence[Record]) -> list[str]:
    """Return the authorities that have signed the accepted certificates."""
    return list(dict.fromkeys(common_name(record.get("issuer")) for record in accepted_of(certificates)))


def until(record: Record) -> str:
    """Return the day until which a certificate is valid."""
    end = _end(record)
    return NOTHING if end is None else end.date().isoformat()


def expired(record: Record, when: float) -> bool:
    """Return whether a certificate wasn't valid any longer at that time, in seconds since the epoch."""
    end = _end(record)
    return end is not None and end.timestamp() < when


def _end(record: Record) -> datetime | None:
    """Return when a certificate expires, from seconds since the epoch or an ISO date; None where that is unknown."""
    expires: Any = record.get("expires")
    try:
        if isinstance(expires, str):
            end = datetime.fromisoformat(expires)
            return end if end.tzinfo else end.replace(tzinfo=UTC)
        return datetime.fromtimestamp(float(expires), UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def code(record: Record) -> str:
    """Return a command's exit code, the signal that ended it, or that it runs."""
    value = record.get("code")
    if not isinstance(value, int):
        return "runs"
    return f"signal {-value}" if value < 0 else str(value)


def killed(record: Record) -> bool:
    """Return whether a signal ended a command; shells and wrappers return 128 plus the signal's number."""
    value = record.get("code")
    return isinstance(value, int) and (value < 0 or value > 128)


def starts(record: Record, who: str) -> bool:
    """Return whether a command starts an aggregator or a collaborator."""
    return f"{who} start" in str(record.get("command") or "")
