"""Reads a browser's cookies from the header, so that no other parser sees them.

Python's own un-quoting takes time that grows with the square of a value's length in the versions that we run on, and
Starlette and Streamlit both use it. So a value with quotes or backslashes never reaches them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from workshop.core.errors import BadInput

LARGEST = 8192  # bytes of all cookies together
# Streamlit's protection against requests of other sites; pages need no other cookie of its own.
STREAMLIT = "_streamlit_xsrf"
_HEADER = b"cookie"
_PLAIN = re.compile(rb"[A-Za-z0-9_|-]{1,200}")  # nothing that would have to be un-quoted

Headers = list[tuple[bytes, bytes]]


def read(headers: Iterable[tuple[bytes, bytes]], names: Collection[str]) -> dict[str, str]:
    """The last cookie of each of these names with a plain value; all others are left out. Raises BadInput for too many
    bytes."""
    lines = [value for name, value in headers if name.lower() == _HEADER]
    if (size := sum(map(len, lines))) > LARGEST:
        raise BadInput(
            f"The cookies have {size:,} bytes; at most {LARGEST:,} are read. Please delete this site's cookies in your "
            "browser."
        )
    pairs = (cookie.strip().partition(b"=") for line in lines for cookie in line.split(b";"))
    names_as_bytes = {name.encode(): name for name in names}
    return {
        names_as_bytes[name.strip()]: value.strip().decode()
        for name, _, value in pairs
        if name.strip() in names_as_bytes and _PLAIN.fullmatch(value.strip())
    }


def replaced(headers: Iterable[tuple[bytes, bytes]], cookies: dict[str, str]) -> Headers:
    """The headers with these cookies in place of the sent ones."""
    others = [pair for pair in headers if pair[0].lower() != _HEADER]
    line = "; ".join(f"{name}={value}" for name, value in cookies.items())
    return [*others, (_HEADER, line.encode())] if line else others
