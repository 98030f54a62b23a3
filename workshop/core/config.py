"""Where state lives: one folder (`WORKSHOP_HOME`) and one database (`WORKSHOP_DATABASE_URL`); and how much memory ranks
may have (`WORKSHOP_MEMORY`)."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import platformdirs

from workshop.core.errors import BadInput

_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}  # powers of two
DATABASE = "workshop.db"  # in the state folder
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
    return os.environ.get("WORKSHOP_DATABASE_URL") or f"sqlite:///{home() / DATABASE}"


@contextmanager
def elsewhere(folder: Path | str) -> Iterator[None]:
    """State in another folder, for this process and those that it starts, until the end of the block."""
    names = ("WORKSHOP_HOME", "WORKSHOP_DATABASE_URL")
    before = {name: os.environ.get(name) for name in names}
    os.environ["WORKSHOP_HOME"] = str(folder)
    os.environ.pop("WORKSHOP_DATABASE_URL", None)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def memory_limit() -> int | None:
    """The bytes that all ranks of a session may have together on this machine: `WORKSHOP_MEMORY`, like 6G or 800M, in
    powers of 1024. None without it: then they may use all memory. Raises BadInput."""
    value = os.environ.get("WORKSHOP_MEMORY", "").strip()
    if not value:
        return None
    read = _SIZE.fullmatch(value)
    limit = int(float(read[1]) * (1 << _UNITS[read[2].upper()])) if read else 0
    if limit <= 0:
        raise BadInput(f"WORKSHOP_MEMORY is {value!r}; it should be a size like 6G, 800M or a number of bytes.")
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


def class_notebooks(learner: str) -> Path | None:
    """The folder of a learner's notebooks where each learner of a class has an account on this machine. The variable
    `WORKSHOP_CLASS_NOTEBOOKS` describes it, like /srv/class/{learner}/notebooks. None without the variable, and where
    the folder doesn't exist. Raises BadInput."""
    value = os.environ.get("WORKSHOP_CLASS_NOTEBOOKS", "").strip()
    if not value:
        return None
    if value.count("{learner}") != 1 or not value.startswith("/"):
        raise BadInput(
            f"WORKSHOP_CLASS_NOTEBOOKS is {value!r}; it should be a path with the learner's name in it, like "
            "/srv/class/{learner}/notebooks."
        )
    if learner in ("", ".", "..") or "/" in learner:
        return None  # can't be anybody's folder
    folder = value.replace("{learner}", learner)
    return Path(folder) if os.path.isdir(folder) else None


def class_learners() -> list[str]:
    """The names of the learners' folders, see `class_notebooks`; none where they can't be read."""
    first, _, rest = os.environ.get("WORKSHOP_CLASS_NOTEBOOKS", "").strip().partition("{learner}")
    root, _, beginning = first.rpartition("/")
    form = re.compile(f"{re.escape(beginning)}(.+){re.escape(rest.partition('/')[0])}", re.S)
    try:
        matches = [form.fullmatch(name) for name in os.listdir(root or "/")] if first.startswith("/") else []
    except OSError:
        return []
    return sorted(match[1] for match in matches if match)


def learners_folder() -> Path:
    """Where a learner's own copies of the notebooks are: `WORKSHOP_NOTEBOOKS`, or a folder of the state folder."""
    folder = os.environ.get("WORKSHOP_NOTEBOOKS")
    return Path(folder).expanduser().absolute() if folder else home() / "notebooks"


def app_folder() -> Path:
    """The dashboard's Streamlit pages."""
    return _shipped("app")


def labs_folder() -> Path:
    """Files that learners read and run by themselves: a folder for each lab."""
    return _shipped("labs")


def notebooks_folder() -> Path:
    """The labs' notebooks as they are made; learners work on copies of them."""
    return _shipped("notebooks")


def project_file() -> Path:
    """The project's pyproject.toml."""
    return _shipped("pyproject.toml")


def in_checkout() -> bool:
    """Whether the package runs from its source, where `make up` installs what it needs."""
    return not _DATA.is_dir()


_PACKAGE = Path(__file__).parent.parent
_DATA = _PACKAGE / "_data"  # of a wheel


def _shipped(name: str) -> Path:
    """The files that come with the package: beside it in a checkout, inside it in a wheel."""
    return (_PACKAGE.parent if in_checkout() else _DATA) / name
