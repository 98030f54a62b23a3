"""Parts of all installed extensions (`workshop.extension`), by name.

Where two extensions have parts of the same name, the workshop's own counts, then the extension whose entry point is
first in the alphabet; the other one is named on standard error. A program knows the packages that were installed when
it began.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, TypeVar

from workshop.core.errors import BadInput
from workshop.extension import (
    Command,
    Decks,
    Extension,
    Failure,
    FailuresOf,
    Lab,
    Page,
    Study,
    Workload,
    load,
)

if TYPE_CHECKING:
    from workshop.core.placement import Host

GROUP = "workshop.extensions"
BUILT_IN = "workshop."  # begins the modules of the workshop itself
T = TypeVar("T")

_loaded: dict[str, Extension] = {}  # by the reference of their entry points


@cache
def extensions() -> Sequence[Extension]:
    """Every extension that can be loaded; one that can't is named on standard error."""
    loaded_extensions = []
    _loaded.clear()
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


def commands(group: str) -> Mapping[str, Command]:
    """The commands of a group of the command line by name, in their order; of `workshop` itself with an empty group."""
    of_group = [entry for each in extensions() for entry in each.commands if entry.group == group]
    return _by_name("command", sorted(of_group, key=lambda command: command.order))


def forget() -> None:
    """Load extensions again the next time, because other ones are installed."""
    for cached in (extensions, workloads, studies, pages, labs, decks, checks):
        cached.cache_clear()
