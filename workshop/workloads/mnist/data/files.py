"""MNIST's files in a folder or named one by one: which there are, and their bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from workshop.core.errors import BadInput
from workshop.engine.data.damage import DamagedFile
from workshop.workloads.mnist.data.idx import GZIP

LARGEST = 64 << 20  # bytes, what the store takes as an artifact
NPZ = "mnist.npz"
PARTS = ("train", "t10k")
DIMENSIONS = {"images": 3, "labels": 1}
ENDINGS = ("", ".gz")
IDX_NAME = re.compile(r"(?P<before>.*)(?P<kind>images|labels)[-.]idx[13]-ubyte(\.gz)?")


@dataclass(frozen=True)
class File:
    """A file's bytes, and how messages name it."""

    name: str
    data: bytes


# Under the names by which they travel with a run: mnist.npz, or MNIST's own names, with .gz where they are compressed.
Files = dict[str, File]


def at(data: str) -> Files:
    """The files of a path: an npz file, one file of an IDX pair, or a folder with such files. Raises BadInput.

    A folder may hold both of MNIST's pairs or one. For one file of a pair, the other one has to be beside it.
    """
    try:
        path = Path(data).expanduser()
        if path.is_dir():
            return _folder(path, data)
        if path.name.endswith(".npz"):
            return {NPZ: read(path, data)}
        if match := IDX_NAME.fullmatch(path.name):
            return _beside(path, match["before"], match["kind"], data)
        path.stat()
        raise BadInput(
            f"The data file {data} is called neither like an npz file nor like MNIST's IDX files "
            f"({idx_name('train', 'images')}.gz); give one of these, or a folder that has them."
        )
    except FileNotFoundError:
        right = "give auto, mnist, digits, or the path of MNIST's files"
        raise BadInput(f"The data {data} isn't there; {right}.") from None
    except OSError as error:
        raise BadInput(f"The data {data} can't be read ({error.strerror}); give a path that you may read.") from error
    except (RuntimeError, ValueError) as error:  # an unknown ~user; a null character
        raise BadInput(f"The data {data!r} is no path ({error}); give the path of MNIST's files.") from error


def read(path: Path, name: str) -> File:
    """A file that messages call `name`. Raises OSError where it can't be read, BadInput where it can't be taken."""
    data = ordinary(path, f"The data file {name}", "give MNIST's files, or a folder that has them")
    if not data:
        raise DamagedFile(name, data, "is empty")
    return File(name, data)


def ordinary(path: Path, name: str, right: str) -> bytes:
    """The bytes of an ordinary file, never of a device or a pipe. `right` says what should be given. Raises OSError for
    a file that can't be read, BadInput for one that can't be used."""
    if path.exists() and not path.is_file():
        raise BadInput(f"{name} is no ordinary file; {right}.")
    with path.open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise BadInput(f"{name} has over {LARGEST >> 20} MB, more than can be taken; {right}.")
    return data


def idx_name(part: str, kind: str) -> str:
    """MNIST's own name, not compressed, for the "images" or "labels" of "train" or "t10k"."""
    return f"{part}-{kind}-idx{DIMENSIONS[kind]}-ubyte"


def names() -> list[str]:
    """All names that files may have among `Files`."""
    return [NPZ, *(idx_name(part, kind) + end for part in PARTS for kind in DIMENSIONS for end in ENDINGS)]


def _folder(folder: Path, data: str) -> Files:
    where = data.rstrip("/")
    files: Files = {}
    for part in PARTS:
        pair = {kind: path for kind in DIMENSIONS if (path := _existing(folder, part + "-", kind))}
        if missing := DIMENSIONS.keys() - pair.keys() if pair else None:
            (present,), (lacking,) = pair, missing
            raise BadInput(
                f"The folder {data} has {pair[present].name} but no {lacking} for it; "
                f"put {idx_name(part, lacking)}.gz beside it."
            )
        for kind, path in pair.items():
            _add(files, part, kind, read(path, f"{where}/{path.name}"))
    if not files and (folder / NPZ).exists():
        files[NPZ] = read(folder / NPZ, f"{where}/{NPZ}")
    if not files:
        names = ", ".join(idx_name(part, kind) for part in PARTS for kind in DIMENSIONS)
        raise BadInput(
            f"The folder {data} has no MNIST: looked for {names}, with and without .gz, also with .idx in place of "
            f"-idx, and for {NPZ}; give a folder with a pair of these, or with that file."
        )
    return files


def _beside(path: Path, before: str, kind: str, data: str) -> Files:
    """The pair of files to which `path` belongs: images or labels, as `kind` says."""
    files: Files = {}
    part = next((part for part in PARTS if part in before), PARTS[0])
    for which in DIMENSIONS:
        other = path if which == kind else _existing(path.parent, before, which)
        if other is None:
            read(path, data)  # whatever is wrong with the file itself comes first
            raise BadInput(
                f"The data file {data} has no {which} beside it; "
                f"put {before}{which}-idx{DIMENSIONS[which]}-ubyte.gz into its folder."
            )
        _add(files, part, which, read(other, data.removesuffix(path.name) + other.name))
    return files


def _existing(folder: Path, before: str, kind: str) -> Path | None:
    """The file of images or labels that is there, under any of the names that mirrors give it."""
    names = (f"{before}{kind}{mark}idx{DIMENSIONS[kind]}-ubyte{ending}" for mark in "-." for ending in (".gz", ""))
    return next((folder / name for name in names if (folder / name).exists()), None)


def _add(files: Files, part: str, kind: str, file: File) -> None:
    files[idx_name(part, kind) + (".gz" if file.data.startswith(GZIP) else "")] = file
