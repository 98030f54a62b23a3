"""How a file that can't be used is named: by its name, its checksum and what is wrong with it."""

from __future__ import annotations

import hashlib

from workshop.core.errors import BadInput

LARGEST = 256 << 20  # bytes that the arrays of one file may take, whatever it claims


class DamagedFile(BadInput):
    """A file that is there and holds something else than it should."""

    def __init__(self, name: str, data: bytes, what: str, right: str = "get it anew from where it came") -> None:
        super().__init__(f"{name} (sha256 {hashlib.sha256(data).hexdigest()[:16]}) {what}; {right}.")
