"""Files that a command writes. An existing file is replaced only with --overwrite."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from workshop.core.errors import BadInput


def check(paths: Iterable[Path], overwrite: bool) -> None:
    """Raises BadInput for a folder, and for a file that is there already unless it may be overwritten."""
    existing = [path for path in paths if path.exists()]
    if folder := next((path for path in existing if path.is_dir()), None):
        raise BadInput(f"{folder} is a folder; give the name of a file in it.")
    if existing and not overwrite:
        more = f" and {len(existing) - 1} more" if len(existing) > 1 else ""
        raise BadInput(f"{existing[0]}{more} is there already; give another name, or --overwrite.")


def write(path: Path, data: bytes) -> str:
    """Write a file; returns its name. Raises BadInput where nobody can write."""
    try:
        path.write_bytes(data)
    except OSError as error:
        raise BadInput(f"{path} can't be written ({error.strerror}); give a place of your own.") from error
    return str(path)
