"""The error for a file that can't be used: it gives the file's name, its checksum and the fault."""

from __future__ import annotations

import hashlib

from workshop.core.errors import BadInput


class DamagedFile(BadInput):
    """A file whose contents aren't what they should be."""

    def __init__(self, name: str, data: bytes, what: str, right: str = "get it anew from where it came") -> None:
        super().__init__(f"{name} (sha256 {hashlib.sha256(data).hexdigest()[:16]}) {what}; {right}.")
