"""Each learner has copies of the notebooks and of the labs' files. Nobody opens the originals, and an update never
overwrites a learner's work.

A ledger beside the copies keeps the hash of each file that was handed out (of a notebook: of its cells). A copy with
that hash is replaced by a new version. A changed copy is the learner's; the new version goes beside it.
"""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from workshop.core import config, processes, words
from workshop.core.errors import BadInput
from workshop.course import build
from workshop.course import notebook as course_notebook

LEDGER = ".handed-out.json"  # names and hashes of what a learner has been given
PATTERN = "*.ipynb"  # of the originals; folders within, such as that of the solutions, aren't handed out
NEW, ASIDE = "new version", "set aside"
ALONE = 30.0  # seconds for which another process may have a learner's folder

What = Literal["given", "same", "updated", "kept", "beside"]


@dataclass(frozen=True)
class CopyResult:
    """The result for one file: `given` for the first time or again, the `same` as before, `updated` because nobody had
    changed it, `kept` as the learner has it, or a new version `beside` it.

    `name` is its path below the learner's folder, `path` the path of the newest version, `aside` the name of the file
    with the learner's work where it was moved.
    """

    name: str
    what: What
    path: Path
    aside: str | None = None

    def __str__(self) -> str:
        note = f" What had been written is kept as {self.aside}." if self.aside else ""
        return {
            "given": f"{self.name} was copied.",
            "same": f"{self.name} is as it was handed out.",
            "updated": f"{self.name} is a new version now; yours had no changes.",
            "kept": f"{self.name} is yours, with your changes.",
            "beside": f"{self.name} is yours, with your changes; {self.path.name} beside it is the new version.",
        }[self.what] + note


def hand_out(originals: Path, target: Path, labs: Path | None = None) -> list[CopyResult]:
    """Bring a learner's folder up to date with the notebooks in another folder, and with the files of labs that they
    link to. Notebooks come first. Raises BadInput."""
    files = _files(originals, labs)
    with _opened(originals, target.resolve()) as (folder, ledger):
        return [_copied(data, name, folder, ledger) for name, data in files.items()]


def copy_again(originals: Path, target: Path, name: str, labs: Path | None = None) -> CopyResult:
    """Hand out one file again. The learner's file gets another name. Raises BadInput."""
    files = _files(originals, labs)
    if name not in files:
        names = words.listed(files)
        raise BadInput(f"There is no file {name!r:.60} of {originals}; there are {names}.")
    with _opened(originals, target.resolve()) as (folder, ledger):
        path, aside = folder / name, None
        if _hash(path) not in (None, _digest(files[name])):
            aside = next(other for other in _names(path, ASIDE) if not other.exists())
            path.rename(aside)
        return replace(_copied(files[name], name, folder, ledger), aside=aside.name if aside else None)


def linked(originals: Path, name: str, lab: str) -> list[str]:
    """The files of a lab, by their paths below a learner's folder, that a notebook's copy comes with."""
    files = {link for link in _links(_notebooks(originals).get(name, b"")) if course_notebook.file(link) is not None}
    return sorted(link for link in files if PurePosixPath(link).parent == PurePosixPath(course_notebook.FOLDER, lab))


def _files(originals: Path, labs: Path | None) -> dict[str, bytes]:
    """The files to hand out, by their paths below a learner's folder. Raises BadInput."""
    try:
        notebooks = _notebooks(originals)
        linked = {link for data in notebooks.values() for link in _links(data)}
        beside = {link: path for link in sorted(linked) if (path := course_notebook.file(link, labs)) is not None}
        return notebooks | {link: path.read_bytes() for link, path in beside.items()}
    except OSError as error:
        raise BadInput(f"{error.filename} can't be read ({error.strerror}).") from None


def _notebooks(originals: Path) -> dict[str, bytes]:
    """The notebooks in a folder by name, with the notebooks of other packages' labs. Raises BadInput and OSError."""
    notebooks = {path.name: path.read_bytes() for path in sorted(originals.glob(PATTERN)) if path.is_file()}
    if not notebooks:
        raise BadInput(f"There are no notebooks in {originals}; make them with workshop labs build.")
    others = build.package_notebooks() if originals == config.notebooks_folder() else {}
    return {name: text.encode() for name, text in others.items()} | notebooks


def _links(notebook: bytes) -> Iterator[str]:
    """The relative links in a notebook's texts; none where it is no notebook."""
    try:
        cells = json.loads(notebook)["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    except (ValueError, KeyError, TypeError):
        return
    for text in texts:
        for _, link in course_notebook.relative(text):
            yield link


@contextmanager
def _opened(originals: Path, target: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """A learner's folder and ledger, kept when all is done. One process at a time has the folder. Raises BadInput."""
    try:
        if originals.resolve() in (target, *target.parents):
            raise BadInput(f"{target} is where the originals are; take another folder for copies.")
        target.mkdir(parents=True, exist_ok=True)
        handle = os.open(target, os.O_DIRECTORY)
        try:
            if not processes.lock(handle, time.monotonic() + ALONE):
                raise BadInput(f"Another process has had {target} for {ALONE:g} s; end it, or try again later.")
            ledger = _ledger(target)
            try:
                yield target, ledger
            finally:
                _write(target / LEDGER, (json.dumps(ledger, indent=1, sort_keys=True) + "\n").encode(), target)
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""  # the kernel doesn't say where a disk is full
        raise BadInput(f"The notebooks can't be copied to {target} ({where}{error.strerror or error}).") from None


def _copied(data: bytes, name: str, folder: Path, ledger: dict[str, str]) -> CopyResult:
    """Hand out one file, by comparing the original, the version handed out last, and the file that is there."""
    path, digest, before = folder / name, _digest(data), ledger.get(name)
    now = _hash(path)
    what: What
    if now in (None, before) and now != digest:
        what = "given" if now is None else "updated"
        _write(path, data, folder)
    elif now == digest or digest == before:
        what = "same" if now == digest else "kept"
    else:
        what, path = "beside", _beside(path, data, digest, folder, ledger)
    ledger[name] = digest
    return CopyResult(name, what, path)


def _beside(path: Path, data: bytes, digest: str, folder: Path, ledger: dict[str, str]) -> Path:
    """Put a new version under a name of its own, which is returned. One that was put there earlier and hasn't been
    changed makes way."""
    for beside in _names(path, NEW):
        entry = beside.relative_to(folder).as_posix()
        if _hash(beside) in (None, digest, ledger.get(entry)):
            break
    _write(beside, data, folder)
    ledger[entry] = digest
    return beside


def _names(path: Path, why: str) -> Iterator[Path]:
    """`1-kmeans (new version).ipynb`, `1-kmeans (new version 2).ipynb` and so on."""
    for number in itertools.count(1):
        yield path.with_name(f"{path.stem} ({why}{'' if number == 1 else f' {number}'}){path.suffix}")


def _write(path: Path, data: bytes, folder: Path) -> None:
    """Write the whole file or nothing. The owner of the learner's folder owns the files that root makes, because a
    server of a class may run as another user."""
    owner = folder.stat()
    missing = [above for above in (path.parent, *path.parent.parents) if not above.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        part.write_bytes(data)
        if os.geteuid() == 0 and owner.st_uid != 0:
            for new in (part, *missing):
                os.chown(new, owner.st_uid, owner.st_gid)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _hash(path: Path) -> str | None:
    """Of a learner's file; None where there is none."""
    return _digest(path.read_bytes()) if path.exists() else None


def _digest(data: bytes) -> str:
    """The hash of the parts that a learner may have written: for a notebook its cells, outputs and pictures, since
    JupyterLab rewrites the rest whenever it opens one."""
    with suppress(ValueError, KeyError, TypeError):
        cells = [
            [cell["cell_type"], "".join(cell["source"]), cell.get("outputs", [])]
            + [pictures for pictures in (cell.get("attachments"),) if pictures]  # most ledgers don't record them
            for cell in json.loads(data)["cells"]
        ]
        data = json.dumps(cells, sort_keys=True).encode()
    return hashlib.sha256(data).hexdigest()


def _ledger(folder: Path) -> dict[str, str]:
    """The files that were handed out. A damaged ledger counts as empty, so that nothing is overwritten."""
    try:
        entries = json.loads((folder / LEDGER).read_bytes())
    except (OSError, ValueError):
        return {}
    return entries if isinstance(entries, dict) else {}
