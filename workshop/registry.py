"""What all installed extensions bring (`workshop.extension`), by name.

Of two that bring something of the same name, the workshop's own counts, then the one whose entry point is first in the
alphabet; the other one is named on standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
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
    QuizFormat,
    Software,
    Study,
    Workload,
    load,
)

if TYPE_CHECKING:
    from workshop.core.placement import Host

GROUP = "workshop.extensions"
OWN = "workshop."  # begins the modules of the workshop itself
T = TypeVar("T")


@cache
def extensions() -> Sequence[Extension]:
    """Every extension that can be loaded; one that can't is named on standard error."""
    found = []
    for entry in sorted(entry_points(group=GROUP), key=_order):
        try:
            loaded = entry.load()
            if not isinstance(loaded, Extension):
                raise TypeError(f"it is a {type(loaded).__name__}, and should be a workshop.extension.Extension")
        except Exception as error:  # somebody else's package: whatever is wrong with it, ours must go on
            print(f"The extension {entry.name} ({entry.value}) can't be loaded: {error}", file=sys.stderr)
        else:
            found.append(loaded)
    return found


def _order(entry: EntryPoint) -> tuple[bool, str]:
    return not entry.value.startswith(OWN), entry.name


def _by_name(what: str, brought: Iterable[T]) -> dict[str, T]:
    found: dict[str, T] = {}
    for one in brought:
        name: Any = getattr(one, "name", None)
        if name in found:
            print(f"There is another {what} {name!r}, which is left out.", file=sys.stderr)
        else:
            found[name] = one
    return found


@cache
def workloads() -> Mapping[str, Workload]:
    """Every known workload by name, in the alphabet's order."""
    return dict(sorted(_by_name("workload", (one for each in extensions() for one in each.workloads)).items()))


def workload(name: str) -> Workload:
    """The workload of that name. Raises BadInput with the known names."""
    try:
        return workloads()[name]
    except KeyError:
        raise BadInput(f"There is no workload {name!r}; there are {', '.join(workloads())}.") from None


def first_workload() -> Workload:
    """The workload that forms begin with. Raises BadInput where there is none."""
    if not workloads():
        raise BadInput("No workload is installed.")
    return min(workloads().values(), key=lambda one: one.order)


def failures(cores: int, hosts: Sequence[Host], mpis: Collection[str]) -> Mapping[str, Failure]:
    """The guided failures of all workloads by name, in their order; what they are given is that of `FailuresOf`."""
    brought: list[Failure] = []
    for one in workloads().values():
        if one.failures:
            try:
                of: FailuresOf = load(one.failures)
                brought += of(cores, hosts, mpis)
            except Exception as error:  # somebody else's package, as above
                print(f"The guided failures of {one.name} can't be shown: {error}", file=sys.stderr)
    return _by_name("guided failure", sorted(brought, key=lambda failure: failure.order))


@cache
def studies() -> Mapping[str, Study]:
    """Every kind of study by name."""
    return _by_name("kind of study", (one for each in extensions() for one in each.studies))


@cache
def pages() -> Sequence[Page]:
    """All pages of the dashboard, in their order."""
    found = _by_name("page", (one for each in extensions() for one in each.pages))
    return sorted(found.values(), key=lambda page: page.order)


@cache
def labs() -> Sequence[Lab]:
    """All labs, each of another name."""
    return list(_by_name("lab", (one for each in extensions() for one in each.labs)).values())


@cache
def decks() -> Sequence[Decks]:
    """All folders of decks."""
    return [one for each in extensions() for one in each.decks]


@cache
def checks() -> Sequence[str]:
    """References to all checks that extensions bring."""
    return [one for each in extensions() for one in each.checks]


@cache
def formats() -> Mapping[str, QuizFormat]:
    """Every format of quizzes by name."""
    return _by_name("format of quizzes", (one for each in extensions() for one in each.formats))


@cache
def launchers() -> Mapping[str, Launcher]:
    """Every launcher by name, in their order."""
    found = _by_name("launcher", (one for each in extensions() for one in each.launchers))
    return dict(sorted(found.items(), key=lambda item: item[1].order))


def launcher(name: str) -> Launcher:
    """The launcher of that name. Raises BadInput with the known names."""
    try:
        return launchers()[name]
    except KeyError:
        raise BadInput(f"There is no launcher {name!r:.60}; there are {', '.join(launchers())}.") from None


@cache
def mpis() -> Mapping[str, MPI]:
    """Every MPI by name, in their order."""
    found = _by_name("MPI", (one for each in extensions() for one in each.mpis))
    return dict(sorted(found.items(), key=lambda item: item[1].order))


def mpi(name: str) -> MPI:
    """The MPI of that name, or of one of its other names. Raises BadInput with the known names."""
    for one in mpis().values():
        if name == one.name or name in one.aliases:
            return one
    raise BadInput(f"mpi is {name!r:.60}: it should be {words.listed(mpis(), 'or')}.")


def placement(values: Mapping[str, Any]) -> Placement:
    """Read a placement that somebody asks for, which has to name an MPI that is known here. A stored one may name one
    that is gone; `Placement.parse` reads it. Raises BadInput with one sentence."""
    read = Placement.parse(values)
    return read.model_copy(update={"mpi": mpi(read.mpi).name})


@cache
def software() -> Mapping[str, Software]:
    """All software that `workshop mpi install` knows beside MPIs, by name."""
    return _by_name("software", (one for each in extensions() for one in each.software))


def commands(group: str) -> Mapping[str, Command]:
    """The commands of a group of the command line by name, in their order; of `workshop` itself with an empty group."""
    found = [one for each in extensions() for one in each.commands if one.group == group]
    return _by_name("command", sorted(found, key=lambda command: command.order))


def forget() -> None:
    """Look for extensions anew the next time, because some may have been installed meanwhile."""
    for known in (extensions, workloads, studies, pages, labs, decks, formats, launchers, mpis, software, checks):
        known.cache_clear()
