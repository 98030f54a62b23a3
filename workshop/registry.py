"""Parts of all installed extensions (`workshop.extension`), by name.

Where two extensions have parts of the same name, the workshop's own counts, then the extension whose entry point is
first in the alphabet; the other one is named on standard error. Programs that live long look for packages that were
installed, removed or changed with `refresh`.
"""

from __future__ import annotations

import importlib
import importlib.util
import site
import sys
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.extension import (
    MPI,
    Command,
    Decks,
    Extension,
    Failure,
    FailuresOf,
    Lab,
    Launcher,
    Page,
    QuestionType,
    Software,
    Study,
    Workload,
    load,
)

if TYPE_CHECKING:
    from workshop.core.placement import Host

GROUP = "workshop.extensions"
BUILT_IN = "workshop."  # begins the modules of the workshop itself
T = TypeVar("T")
Stamp = tuple[str, int, int]  # a file or folder, when it was changed, and its size


@cache
def extensions() -> Sequence[Extension]:
    """Every extension that can be loaded; one that can't is named on standard error."""
    loaded_extensions = []
    _loaded.clear()
    _installed.look()
    for entry in sorted(entry_points(group=GROUP), key=_order):
        try:
            loaded = entry.load()
            if not isinstance(loaded, Extension):
                raise TypeError(f"it is a {type(loaded).__name__}, and should be a workshop.extension.Extension")
        except Exception as error:  # somebody else's package: whatever is wrong with it, ours must go on
            print(f"The extension {entry.name} ({entry.value}) can't be loaded: {error}", file=sys.stderr)
        else:
            loaded_extensions.append(loaded)
            _loaded[entry.value] = loaded
    return loaded_extensions


class _Installed:
    """A mark of the packages that were installed when extensions were loaded. Looking whether that has changed reads a
    few dates of files."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.folders: list[Stamp] = []  # in which packages are installed
        self.entries: list[EntryPoint] = []
        self.files: list[Stamp] = []  # Python files of packages that are not the workshop's

    def look(self) -> bool:
        """Take note of what is installed now; returns whether that is something else than before."""
        before = self.entries, self.files
        folders = [stamp for path in site.getsitepackages() if (stamp := _stamp(Path(path)))]
        if folders != self.folders:
            for path, _, _ in folders:
                site.addsitedir(path)  # a package may have been installed as the address of its folder
            importlib.invalidate_caches()
            self.folders, self.entries = folders, sorted(entry_points(group=GROUP), key=_order)
        files = (file for name in self.packages() for file in _files(name))
        self.files = [stamp for file in files if (stamp := _stamp(file))]
        return (self.entries, self.files) != before

    def packages(self) -> set[str]:
        return {entry.module.partition(".")[0] for entry in self.entries if not entry.value.startswith(BUILT_IN)}


_installed = _Installed()
_loaded: dict[str, Extension] = {}  # by the reference of their entry points


def refresh() -> bool:
    """Load extensions again where a package was installed, removed or changed; return whether one was. Modules that a
    package has imported are imported again when they are needed."""
    if not _installed.folders:
        return False  # nobody has looked for any yet
    with _installed.lock:
        before = _installed.packages()
        if not _installed.look():
            return False
        for name in list(sys.modules):
            if name.partition(".")[0] in before | _installed.packages():
                del sys.modules[name]
        forget()
        return True


def _stamp(file: Path) -> Stamp | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return str(file), status.st_mtime_ns, status.st_size


def _files(package: str) -> list[Path]:
    """The Python files of an installed package."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return []
    folders = spec.submodule_search_locations
    if folders is None:
        return [Path(spec.origin)] if spec.origin else []
    return sorted(file for folder in folders for file in Path(folder).rglob("*.py"))


def _order(entry: EntryPoint) -> tuple[bool, str]:
    return not entry.value.startswith(BUILT_IN), entry.name


def _by_name(what: str, parts: Iterable[T]) -> dict[str, T]:
    by_name: dict[str, T] = {}
    for part in parts:
        name: Any = getattr(part, "name", None)
        if name in by_name:
            print(
                f"There are two of the {what} {name!r}: {_origin(by_name[name])} counts, {_origin(part)} is left out.",
                file=sys.stderr,
            )
        else:
            by_name[name] = part
    return by_name


def _origin(part: object) -> str:
    """The extension that brings a part, as its entry point names it."""
    for entry, extension in _loaded.items():
        for field in fields(extension):
            items = getattr(extension, field.name)
            if any(part is item for item in items):
                return f"that of {entry}"
    return "another one"


@cache
def workloads() -> Mapping[str, Workload]:
    """Every known workload by name, in their order."""
    workloads_by_name = _by_name("workload", (entry for each in extensions() for entry in each.workloads))
    return dict(sorted(workloads_by_name.items(), key=lambda item: (item[1].order, item[0])))


def workload_title(name: str) -> str:
    """The title of the workload of that name; its name where it isn't installed."""
    return workloads()[name].title if name in workloads() else name


def workload(name: str) -> Workload:
    """The workload of that name. Raises BadInput with the known names."""
    if name not in workloads():
        refresh()  # it may have been installed since this program has begun
    try:
        return workloads()[name]
    except KeyError:
        raise BadInput(f"There is no workload {name!r}; there are {', '.join(workloads())}.") from None


def first_workload() -> Workload:
    """The workload that forms begin with. Raises BadInput where there is none."""
    if not workloads():
        raise BadInput("No workload is installed.")
    return next(iter(workloads().values()))


def failures(cores: int, hosts: Sequence[Host], mpis: Collection[str]) -> Mapping[str, Failure]:
    """The guided failures of all workloads by name, in their order; what they are given is that of `FailuresOf`."""
    all_failures: list[Failure] = []
    for entry in workloads().values():
        if entry.failures:
            try:
                failures_of: FailuresOf = load(entry.failures)
                all_failures += failures_of(cores, hosts, mpis)
            except Exception as error:  # somebody else's package, as above
                print(f"The guided failures of {entry.name} can't be shown: {error}", file=sys.stderr)
    return _by_name("guided failure", sorted(all_failures, key=lambda failure: failure.order))


@cache
def studies() -> Mapping[str, Study]:
    """Every kind of study by name."""
    return _by_name("kind of study", (entry for each in extensions() for entry in each.studies))


@cache
def pages() -> Sequence[Page]:
    """All pages of the dashboard, in their order."""
    pages_by_name = _by_name("page", (entry for each in extensions() for entry in each.pages))
    return sorted(pages_by_name.values(), key=lambda page: page.order)


@cache
def labs() -> Sequence[Lab]:
    """All labs, each of another name."""
    return list(_by_name("lab", (entry for each in extensions() for entry in each.labs)).values())


@cache
def decks() -> Sequence[Decks]:
    """All folders of decks."""
    return [entry for each in extensions() for entry in each.decks]


@cache
def checks() -> Sequence[str]:
    """References to all checks that extensions bring."""
    return [entry for each in extensions() for entry in each.checks]


@cache
def question_types() -> Mapping[str, QuestionType]:
    """Every type of questions by name."""
    return _by_name("type of questions", (type for each in extensions() for type in each.question_types))


@cache
def launchers() -> Mapping[str, Launcher]:
    """Every launcher by name, in their order."""
    launchers_by_name = _by_name("launcher", (entry for each in extensions() for entry in each.launchers))
    return dict(sorted(launchers_by_name.items(), key=lambda item: item[1].order))


def launcher(name: str) -> Launcher:
    """The launcher of that name. Raises BadInput with the known names."""
    try:
        return launchers()[name]
    except KeyError:
        raise BadInput(f"There is no launcher {name!r:.60}; there are {', '.join(launchers())}.") from None


@cache
def mpis() -> Mapping[str, MPI]:
    """Every MPI by name, in their order."""
    mpis_by_name = _by_name("MPI", (entry for each in extensions() for entry in each.mpis))
    return dict(sorted(mpis_by_name.items(), key=lambda item: item[1].order))


def mpi(name: str) -> MPI:
    """The MPI of that name, or of one of its other names. Raises BadInput with the known names."""
    for entry in mpis().values():
        if name == entry.name or name in entry.aliases:
            return entry
    raise BadInput(f"mpi is {name!r:.60}: it should be {words.listed(mpis(), 'or')}.")


def placement(values: Mapping[str, Any]) -> Placement:
    """Read a placement that somebody asks for, which has to name an MPI that is known here. A stored one may name one
    that is gone; `Placement.parse` reads it. Raises BadInput with one sentence."""
    read = Placement.parse(values)
    return read.model_copy(update={"mpi": mpi(read.mpi).name})


@cache
def software() -> Mapping[str, Software]:
    """All software that `workshop mpi install` knows beside MPIs, by name."""
    return _by_name("software", (entry for each in extensions() for entry in each.software))


def commands(group: str) -> Mapping[str, Command]:
    """The commands of a group of the command line by name, in their order; of `workshop` itself with an empty group."""
    of_group = [entry for each in extensions() for entry in each.commands if entry.group == group]
    return _by_name("command", sorted(of_group, key=lambda command: command.order))


def forget() -> None:
    """Load extensions again the next time, because some may have been installed meanwhile."""
    named = (workloads, studies, pages, question_types, launchers, mpis, software)
    for cached in (extensions, labs, decks, checks, *named):
        cached.cache_clear()
