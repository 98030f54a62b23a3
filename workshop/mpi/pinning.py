"""Where Intel MPI pins the ranks of a host by its documented rules: I_MPI_PIN, its domains, its orders and its lists.

Source: Intel MPI Library Developer Reference for Linux, 2021: "Process Pinning", "Environment Variables for Process
Pinning", "Interoperability with OpenMP API". How remainders are shared out is not written there; tests compare it with
the launcher of version 2021.18. A line that the launcher treats otherwise than the reference is refused, not drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain, pairwise, zip_longest

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.core.placement import positive

OFF = ("0", "no", "off", "disable")
Row = Mapping[str, int]  # a processing unit with its core, package, NUMA node and L3 cache
Rows = Sequence[Row]
_OBJECTS = {"core": "core", "socket": "package", "sock": "package", "numa": "numa", "cache3": "l3"}
_ORDERS = ("bunch", "compact", "scatter", "spread")
_LAYOUTS = {"compact": "compact", "scatter": "scatter", "platform": "bunch"}  # of auto: it stands for the order
_MASKS = re.compile(r"\[0x[0-9a-f]{1,512}(,0x[0-9a-f]{1,512})*\]")
_LIST = re.compile(r"\d{1,4}(,\d{1,4})*")  # of a range the launcher makes one place, or several
_READ = {"I_MPI_PIN", "I_MPI_PIN_DOMAIN", "I_MPI_PIN_ORDER", "I_MPI_PIN_PROCESSOR_LIST"}
_READ |= {"I_MPI_PIN_RESPECT_CPUSET", "I_MPI_PIN_RESPECT_HCA"}  # without a cpuset and an adapter they change nothing
_LEVELS = ("package", "numa", "l3", "core", "unit")


def places(variables: Mapping[str, str], threads: int, count: int, rows: Iterable[Row]) -> list[list[int]]:
    """The processing units of each of a host's `count` ranks, which have so many threads (OMP_NUM_THREADS).

    `variables` are those of pinning, `rows` the units of the host. Raises BadInput with the reason where the rules
    don't say it.
    """
    ordered = sorted(rows, key=lambda row: (row["package"], row["core"], row["unit"]))
    everything = sorted(row["unit"] for row in ordered)
    if variables.get("I_MPI_PIN", "1").lower() in OFF:
        return [everything] * count
    if unread := sorted(set(variables) - _READ):
        raise BadInput(f"No rules are drawn for {words.listed(unread)}.")
    domain, listed = variables.get("I_MPI_PIN_DOMAIN"), variables.get("I_MPI_PIN_PROCESSOR_LIST")
    if listed is not None:
        units = [int(unit) for unit in listed.split(",")] if _LIST.fullmatch(listed) else []
        if domain is not None or not units or set(units) - set(everything):
            raise BadInput("I_MPI_PIN_PROCESSOR_LIST should be like 0,2, with processors of the host, and no domain.")
        return [[units[rank % len(units)]] for rank in range(count)]
    domain = (domain or "auto").lower()
    if domain.startswith("["):
        masks = [int(mask, 16) for mask in domain[1:-1].split(",")] if _MASKS.fullmatch(domain) else []
        chosen = [[unit for unit in everything if mask >> unit & 1] for mask in masks]
        if len(chosen) != count or not all(chosen):
            expected = f"{words.count(count, 'hexadecimal mask')} of the host's processors, like 0xf0"
            raise BadInput(f"I_MPI_PIN_DOMAIN is {domain[:40]!r}; it should have {expected}.")
        return chosen
    return [sorted(row["unit"] for row in rank) for rank in _domains(domain, variables, threads, count, ordered)]


def _domains(
    domain: str, variables: Mapping[str, str], threads: int, count: int, rows: Rows
) -> Sequence[Sequence[Row]]:
    """The domain of each rank. Raises BadInput."""
    shape, colon, layout = domain.partition(":")
    order = variables.get("I_MPI_PIN_ORDER", "bunch").lower()
    if order not in _ORDERS:  # the launcher takes `range` for bunch, the reference doesn't
        raise BadInput(f"I_MPI_PIN_ORDER={order[:40]} can't be drawn; it should be {words.listed(_ORDERS, 'or')}.")
    if colon and (shape != "auto" or layout not in _LAYOUTS):
        raise BadInput(
            f"I_MPI_PIN_DOMAIN={domain[:40]} can't be drawn: a layout can only follow auto, as in auto:scatter."
        )
    order = _LAYOUTS[layout] if colon else order
    size = threads if shape == "omp" else positive(shape)
    if size is None and shape not in ("auto", "node", *_OBJECTS):
        caches = ": the launcher gives ranks what auto does" if shape in ("cache", "cache1", "cache2") else ""
        right = "core, socket, numa, cache3, node, auto, omp, a number or masks"
        raise BadInput(f"I_MPI_PIN_DOMAIN={shape[:40]} can't be drawn{caches}; it should be {right}.")
    if why := _unclear(shape, order, count, rows):
        raise BadInput(f"{words.count(count, 'rank')} on a host with domain {shape} in order {order}: {why}.")
    if shape == "node":
        return [rows] * count
    if shape in _OBJECTS:
        return _objects(_OBJECTS[shape], rows, count, order)
    if size is not None:
        return _sized(size, rows, count, order)
    if order == "compact" or count > len(rows):
        return _neighbours(rows, count)
    return _nested(rows, count) if order == "bunch" else _distant(rows, count, order)


def _unclear(shape: str, order: str, count: int, rows: Rows) -> str | None:
    """Why there is no rule for so many ranks: the reference says nothing, or the launcher does something else."""
    packages, cores = groups(rows, "package"), len(groups(rows, "core"))
    nodes, shares = len(groups(packages[0], "numa")), _parts(count, len(packages))
    if order != "compact" and len({len(package) for package in packages}) > 1:
        return "the packages of the machine differ in size"
    if order == "scatter" and len(packages) > 2:
        return "the launcher fails to scatter over more than two packages"
    if order == "scatter" and count > len(packages) and count in (len(rows), cores, len(groups(rows, "l3"))):
        return "the launcher puts ranks next to each other where each core or cache gets one"
    if shape == "auto" and cores < len(rows) and count > cores:
        return "the reference doesn't say which ranks share a core"
    if shape == "numa" and order in ("scatter", "spread"):
        return "the launcher gives them cores, not NUMA nodes"
    node_shares_equal = shape in ("node", "socket", "sock", "numa") or all(share % nodes == 0 for share in shares)
    if order == "bunch" and not node_shares_equal and max(shares) > nodes:
        return "the reference says only where the NUMA nodes of a package get equally many"
    return None


def groups(rows: Iterable[Row], level: str) -> list[list[Row]]:
    """The rows of each core, package and so on, in order."""
    groups: dict[int, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[level], []).append(row)
    return list(groups.values())


def _parts(number: int, count: int) -> list[int]:
    """`number` things for each of `count`, as equally as possible; the first get one more."""
    share, more = divmod(number, count)
    return [share + (place < more) for place in range(count)]


def _cut(objects: Sequence[Rows], ends: Iterable[int]) -> list[list[Row]]:
    """The rows of neighbouring objects together, up to each of these ends."""
    return [list(chain.from_iterable(objects[begin:end])) for begin, end in pairwise([0, *ends])]


def _neighbours(rows: Rows, count: int) -> list[list[Row]]:
    """Rows cut into `count` neighbouring runs of whole objects: the largest objects of which there are enough. A row
    for each, which begin again, where there aren't enough rows."""
    if count > len(rows):
        return [[rows[place % len(rows)]] for place in range(count)]
    objects = next(parts for level in _LEVELS if len(parts := groups(rows, level)) >= count)
    return _cut(objects, accumulate(_parts(len(objects), count)))


def _nested(rows: Rows, count: int, levels: Sequence[str] = ("package", "numa", "core", "unit")) -> list[list[Row]]:
    """The host's share of each rank, package by package, in each NUMA node by node, in each core by core."""
    objects = groups(rows, levels[0])
    if count <= len(objects):
        return _cut(objects, accumulate(_parts(len(objects), count)))
    shares = _parts(count, len(objects))
    return [run for rows_of, share in zip(objects, shares, strict=True) for run in _nested(rows_of, share, levels[1:])]


def _spread(rows: Rows, count: int, levels: Sequence[str] = _LEVELS) -> list[list[list[Row]]]:
    """The shares of a host's packages, each with those of its ranks, as far from each other as possible: what remains
    goes to parts at equal distances."""
    objects = groups(rows, levels[0])
    if count <= len(objects):
        return [[run] for run in _cut(objects, ((place + 1) * len(objects) // count for place in range(count)))]
    share, more = divmod(count, len(objects))
    further = {place * (len(objects) // max(more, 1)) for place in range(more)}
    return [
        list(chain.from_iterable(_spread(rows_of, share + (place in further), levels[1:])))
        for place, rows_of in enumerate(objects)
    ]


def _distant(rows: Rows, count: int, order: str) -> list[list[Row]]:
    """The host's share of each rank: `scatter` takes the packages in turn, `spread` one after the other."""
    packages = _spread(rows, count)
    if order == "scatter":
        return [run for turn in zip_longest(*packages) for run in turn if run is not None]
    return list(chain.from_iterable(packages))


def _objects(level: str, rows: Rows, count: int, order: str) -> list[list[Row]]:
    """A core, package and so on for each rank; more ranks than there are begin again at the first."""
    objects = groups(rows, level)
    if order == "compact" or count > len(objects):
        return [objects[rank % len(objects)] for rank in range(count)]
    if order != "bunch":
        object_of_unit = {row["unit"]: group for group in objects for row in group}
        return [object_of_unit[run[0]["unit"]] for run in _distant(rows, count, order)]
    return [group for part, share in _dealt(rows, count, level) for group in groups(part, level)[:share]]


def _dealt(rows: Rows, count: int, level: str = "unit") -> list[tuple[Rows, int]]:
    """The parts of a host that `bunch` fills, each with its number of ranks: packages, or their NUMA nodes where those
    get equally many and are no smaller than what a rank gets."""
    packages = groups(rows, "package")
    shares = _parts(count, len(packages))
    nodes = len(groups(packages[0], "numa"))
    if any(share % nodes for share in shares) or len(groups(packages[0], level)) < nodes:
        return list(zip(packages, shares, strict=True))
    split = zip(packages, shares, strict=True)
    return [(node, share // nodes) for package, share in split for node in groups(package, "numa")]


def _sized(size: int, rows: Rows, count: int, order: str) -> Sequence[Sequence[Row]]:
    """So many processors for each rank: next to each other, and around the end where there aren't enough."""
    if size >= len(rows):
        return [rows] * count
    if order == "compact" or size * count > len(rows):
        return _around(rows, size, count)
    if size == len(groups(rows, "core")[0]):
        return _objects("core", rows, count, order)
    if order != "bunch":
        return [run[:size] for run in _distant(rows, count, order)]
    return [domain for part, share in _dealt(rows, count) for domain in _around(part, size, share)]


def _around(rows: Rows, size: int, count: int) -> list[list[Row]]:
    """`count` domains of so many rows, one behind the other, and around the end."""
    size = min(size, len(rows))
    return [[rows[(rank * size + place) % len(rows)] for place in range(size)] for rank in range(count)]
