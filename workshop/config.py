"""Where state lives: one folder (`WORKSHOP_HOME`) and one database (`WORKSHOP_DATABASE_URL`); and how much memory ranks
may have (`WORKSHOP_MEMORY`)."""

from __future__ import annotations

import os
import re
import secrets
from functools import cache
from pathlib import Path

import platformdirs

from workshop.errors import BadInput

_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}  # powers of two
TEMPORARY = "tmp"  # in a session's folder: temporary files of its ranks
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(?:I?B)?", re.I)


def home() -> Path:
    """The folder of all state, made if it isn't there. Raises BadInput where it can't be written."""
    return _writable(
        Path(os.environ.get("WORKSHOP_HOME") or platformdirs.user_data_dir("workshop")).expanduser().absolute()
    )


@cache
def _writable(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        probe = folder / f".writable-{os.getpid()}-{secrets.token_hex(4)}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise BadInput(
            f"The state folder {folder} can't be written ({error.strerror}); "
            "set WORKSHOP_HOME to a folder of your own on a local disk."
        ) from error
    return folder


def database_url() -> str:
    """The store's SQLAlchemy URL: `WORKSHOP_DATABASE_URL`, or a SQLite file in the state folder."""
    return os.environ.get("WORKSHOP_DATABASE_URL") or f"sqlite:///{home() / 'workshop.db'}"


def memory_limit() -> int | None:
    """The bytes that all ranks of a session may have together on this machine: `WORKSHOP_MEMORY`, like 6G or 800M, in
    powers of 1024. None without it: then they may have what there is. Raises BadInput."""
    given = os.environ.get("WORKSHOP_MEMORY", "").strip()
    if not given:
        return None
    read = _SIZE.fullmatch(given)
    limit = int(float(read[1]) * (1 << _UNITS[read[2].upper()])) if read else 0
    if limit <= 0:
        raise BadInput(f"WORKSHOP_MEMORY is {given!r}; it should be a size like 6G, 800M or a number of bytes.")
    return limit


def session_folder(session_id: int) -> Path:
    """The folder of one session: connection files, logs, locks. Only its owner can look inside."""
    folder = home() / "sessions" / str(session_id)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def cache_folder(name: str) -> Path:
    """A folder for what can be made again (compiled kernels, MPI prefixes)."""
    folder = home() / "cache" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def app_folder() -> Path:
    """The dashboard's Streamlit pages."""
    return _shipped("app")


def labs_folder() -> Path:
    """What learners read and run by themselves: a folder for each lab."""
    return _shipped("labs")


def project_file() -> Path:
    """The project's pyproject.toml."""
    return _shipped("pyproject.toml")


def in_checkout() -> bool:
    """Whether the package runs from its source, where `make up` installs what it needs."""
    return not _DATA.is_dir()


_DATA = Path(__file__).parent / "_data"  # of a wheel


def _shipped(name: str) -> Path:
    """What comes with the package: beside it in a checkout, inside it in a wheel."""
    return (Path(__file__).parent.parent if in_checkout() else _DATA) / name
