"""Each learner has copies of the notebooks and of the labs' files. Nobody opens the originals, and an update never
overwrites a learner's work.

A ledger beside the copies keeps the hash of each file that was handed out (of a notebook: of its cells). A copy with
that hash is replaced by a new version. A changed copy is the learner's; the new version goes beside it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from workshop.core import config, words
from workshop.core.errors import BadInput
from workshop.course import build, links
from workshop.course.learner_folder import Folder, opened

LEDGER = ".handed-out.json"  # names and hashes of what a learner has been given
PATTERN = "*.ipynb"  # of the originals; folders within, such as that of the solutions, aren't handed out
NEW, ASIDE = "new version", "set aside"
TOO_LARGE = "too large"  # in place of a hash: no original is that
MOST = 1000  # files with such a name
TRIES, PAUSE = 25, 0.02  # seconds, with a file that somebody else writes at the same time

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


def copy_again(originals: Path, target: Path, name: str, labs: Path | None = None, make: bool = True) -> CopyResult:
    """Hand out one file again; with `make`, make a missing folder. The learner's file gets another name. Raises
    BadInput, also for a link in the folder's path, because it may lead another user elsewhere."""
    files = _files(originals, labs)
    if name not in files:
        names = words.listed(files)
        raise BadInput(f"There is no notebook {name!r:.60} in {originals}; there are {names}.")
    with _opened(originals, target, make) as (folder, ledger):
        aside = None
        with _place(folder, name) as (place, file):
            if _hash(place, file) not in (None, _digest(files[name])):
                aside = _set_aside(place, file)
        return replace(_copied(files[name], name, folder, ledger), aside=aside)


def linked(originals: Path, name: str, lab: str) -> list[str]:
    """The files of a lab, by their paths below a learner's folder, that a notebook's copy comes with."""
    files = {link for link in _links(_notebooks(originals).get(name, b"")) if links.file(link) is not None}
    return sorted(link for link in files if PurePosixPath(link).parent == PurePosixPath(links.FOLDER, lab))


def _files(originals: Path, labs: Path | None) -> dict[str, bytes]:
    """The files to hand out, by their paths below a learner's folder. Raises BadInput."""
    try:
        notebooks = _notebooks(originals)
        linked = {link for data in notebooks.values() for link in _links(data)}
        beside = {link: path for link in sorted(linked) if (path := links.file(link, labs)) is not None}
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
        for _, link in links.relative(text):
            yield link


@contextmanager
def _opened(originals: Path, target: Path, make: bool = True) -> Iterator[tuple[Folder, dict[str, str]]]:
    """A learner's folder and ledger, kept when all is done. One process at a time has the folder. Raises BadInput."""
    try:
        if originals.resolve() in (target.resolve(), *target.resolve().parents):
            raise BadInput(f"{target} is where the originals are; take another folder for copies.")
        with opened(target.absolute(), make) as folder, folder.alone():
            ledger = _ledger(folder)
            try:
                yield folder, ledger
            finally:
                folder.write(LEDGER, (json.dumps(ledger, indent=1, sort_keys=True) + "\n").encode())
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""  # the kernel doesn't say where a disk is full
        raise BadInput(f"The notebooks can't be copied to {target} ({where}{error.strerror or error}).") from None


def _copied(data: bytes, name: str, target: Folder, ledger: dict[str, str]) -> CopyResult:
    """Hand out one file, by comparing the original, the version handed out last, and the file that is there."""
    digest, before = _digest(data), ledger.get(name)
    path, saved = PurePosixPath(name), None
    with _place(target, name) as (folder, file):
        for more in range(TRIES, -1, -1):
            now = _hash(folder, file)
            what, done = _what(digest, before, now, folder.has(file)), True
            if what == "given":
                done = folder.give(file, data)
            elif what == "updated" and more:
                done, aside = _updated(folder, file, data, now)
                saved = aside or saved
            elif what in ("updated", "beside"):  # somebody who goes on writing it has it
                what = "beside"
                path = path.with_name(_beside(folder, name, data, digest, ledger))
            if done:
                break
            time.sleep(PAUSE)
        else:
            raise BadInput(f"{target.path / name} comes and goes; close it wherever it is open, then try again.")
    ledger[name] = digest
    return CopyResult(name, what, target.path / path, saved)


@contextmanager
def _place(target: Folder, name: str) -> Iterator[tuple[Folder, str]]:
    """The folder of a file, and its name there."""
    path = PurePosixPath(name)
    with target.within(path.parent.parts) as folder:
        yield folder, path.name


def _what(digest: str, before: str | None, now: str | None, occupied: bool) -> What:
    """The result, from the hashes of the original, of the version handed out and of the file there. `occupied`:
    a link or a folder has the name."""
    if now is None:
        return "beside" if occupied else "given"  # taken by a link or a folder
    if now == digest:
        return "same"
    if now == before:
        return "updated"
    return "kept" if digest == before else "beside"


def _updated(folder: Folder, file: str, data: bytes, former_digest: str | None) -> tuple[bool, str | None]:
    """A new version in the place of one that nobody has changed, which has that hash. Whether it is there now: what
    somebody saves in that moment stays in its place, or has the other name that is returned."""
    try:
        aside = _set_aside(folder, file)
    except FileNotFoundError:  # gone in that moment
        return False, None

    def untouched() -> bool:
        # A program that opens the file now doesn't reach this one, but one may have opened it before.
        return not folder.written(aside) and _hash(folder, aside) == former_digest

    placed = False
    try:
        placed = untouched() and folder.give(file, data)
    finally:
        lost_nothing = untouched()
        put_back = not placed and folder.back(aside, file)
        if lost_nothing and not put_back:
            folder.remove(aside)
    return placed, None if lost_nothing or put_back else aside


def _beside(folder: Folder, name: str, data: bytes, digest: str, ledger: dict[str, str]) -> str:
    """A new version under a name of its own, which is returned. One that was put there earlier and hasn't been changed
    makes way."""
    for file in _names(PurePosixPath(name).name, NEW):
        entry = str(PurePosixPath(name).with_name(file))
        now = _hash(folder, file)
        unchanged = now is not None and now == ledger.get(entry)
        if (
            now == digest
            or (unchanged and _updated(folder, file, data, now)[0])
            or (not folder.has(file) and folder.give(file, data))
        ):
            ledger[entry] = digest
            return file
    raise BadInput(f"{folder.path} has {MOST} new versions of {name}; take some away.")


def _set_aside(folder: Folder, file: str) -> str:
    """Give a file another name that nobody has, which is returned: the one that is there at that moment, also where
    JupyterLab saves."""
    for other in _names(file, ASIDE):
        if folder.aside(file, other):
            return other
    raise BadInput(f"{folder.path} has {MOST} files of {file} that were {ASIDE}; take some away.")


def _names(file: str, why: str) -> Iterator[str]:
    """`1-kmeans (new version).ipynb`, `1-kmeans (new version 2).ipynb` and so on."""
    path = PurePosixPath(file)
    for number in range(1, MOST + 1):
        yield f"{path.stem} ({why}{'' if number == 1 else f' {number}'}){path.suffix}"


def _hash(folder: Folder, file: str) -> str | None:
    """Of what a learner has under this name; None where there is no file, and for a link to another one."""
    try:
        data = folder.read(file)
    except OSError as error:
        if error.errno == errno.EFBIG:
            return TOO_LARGE
        raise
    return None if data is None else _digest(data)


def _digest(data: bytes) -> str:
    """The hash of the parts that a learner may have written: for a notebook its cells, outputs and pictures, since
    JupyterLab rewrites the rest whenever it opens one."""
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        data = json.dumps([_written(cell) for cell in json.loads(data)["cells"]], sort_keys=True).encode()
    return hashlib.sha256(data).hexdigest()


def _written(cell: Mapping[str, Any]) -> list[Any]:
    """The parts of a cell that a learner may have written. Pictures count only where there are any, because most
    ledgers don't record them."""
    pictures = [cell["attachments"]] if cell.get("attachments") else []
    return [cell["cell_type"], "".join(cell["source"]), cell.get("outputs", []), *pictures]


def _ledger(folder: Folder) -> dict[str, str]:
    """The files that were handed out. A damaged ledger counts as empty, so that nothing is overwritten."""
    try:
        entries = json.loads(folder.read(LEDGER) or b"{}")
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(entries, Mapping):
        return {}
    return {name: value for name, value in entries.items() if isinstance(value, str)}
