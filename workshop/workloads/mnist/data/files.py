"""MNIST's file, one npz: its bytes, and those of other files that params name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from workshop.core.errors import BadInput
from workshop.engine.data import DamagedFile

LARGEST_FILE = 64 << 20  # bytes, what the store takes as an artifact
NPZ = "mnist.npz"


@dataclass(frozen=True)
class File:
    """A file's bytes, and how messages name it."""

    name: str
    data: bytes


def at(data: str) -> File:
    """The npz file of a path. Raises BadInput."""
    try:
        return read(Path(data).expanduser(), data)
    except FileNotFoundError:
        raise BadInput(f"The data {data} isn't there; give auto, mnist, digits, or the path of an npz file.") from None
    except OSError as error:
        raise BadInput(f"The data {data} can't be read ({error.strerror}); give a path that you may read.") from error
    except (RuntimeError, ValueError) as error:  # an unknown ~user; a null character
        raise BadInput(f"The data {data!r} is no path ({error}); give the path of an npz file.") from error


def read(path: Path, name: str) -> File:
    """A file that messages call `name`. Raises OSError where it can't be read, BadInput where it can't be taken."""
    data = ordinary(path, f"The data file {name}", "give an npz file like Keras's mnist.npz")
    if not data:
        raise DamagedFile(name, data, "is empty")
    return File(name, data)


def ordinary(path: Path, name: str, right: str) -> bytes:
    """The bytes of an ordinary file, never of a device or a pipe. `right` says what should be given. Raises OSError for
    a file that can't be read, BadInput for one that can't be used."""
    if path.exists() and not path.is_file():
        raise BadInput(f"{name} is no ordinary file; {right}.")
    with path.open("rb") as file:
        data = file.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise BadInput(f"{name} has over {LARGEST_FILE >> 20} MB, more than can be taken; {right}.")
    return data
