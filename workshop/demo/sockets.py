"""Sockets at paths of any length: the kernel takes only about a hundred characters at once."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path


def connect(path: Path) -> socket.socket:
    """A connection to the socket at a path. Raises OSError."""
    return _at(path, socket.socket.connect)


def listen(path: Path) -> socket.socket:
    """Listen at a path. Raises OSError."""
    opened = _at(path, socket.socket.bind)
    opened.listen()
    return opened


def _at(path: Path, what: Callable[[socket.socket, str], None]) -> socket.socket:
    opened = socket.socket(socket.AF_UNIX)
    folder = os.open(path.parent, os.O_PATH)
    try:
        what(opened, f"/proc/self/fd/{folder}/{path.name}")
    except BaseException:
        opened.close()
        raise
    finally:
        os.close(folder)
    return opened
