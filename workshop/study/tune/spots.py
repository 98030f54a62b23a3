"""Where ranks could be put on a machine: every way that its MPIs take, and no two that come to the same.

The mappers are asked once, before a study begins; what they said is kept with the study, so that whoever goes on with
it decides alike.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from workshop import mpi, registry
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.machines import MachineDescription
from workshop.core.placement import Placement
from workshop.mpi import mapper

AT_ONCE = 4  # mappers that are asked at the same time; each takes about a tenth of a second
RANKS_PER_CORE = 2  # more take turns on cores twice over, which has never made anything faster


@dataclass(frozen=True)
class Spot:
    """One way to put so many ranks somewhere; the fields are those of a placement. Equal `where` are the same
    places."""

    mpi: str
    ranks: int
    map_by: str
    bind_to: str
    cores_per_rank: int
    where: str  # the units that each rank may use, as the MPI's mapper says

    @property
    def fields(self) -> dict[str, Any]:
        """What it sets of a placement."""
        return {name: value for name, value in asdict(self).items() if name != "where"}


def numbers_of_ranks(cores: int, slots: int | None = None) -> list[int]:
    """1, 2, 4, … and the cores themselves, up to twice the cores, or to the slots where there are only so many."""
    most = cores * RANKS_PER_CORE if slots is None else slots
    powers = {2**power for power in range(most.bit_length()) if 2**power <= most}
    return sorted(number for number in powers | {cores, most} if 1 <= number <= most)


def spots(
    described: MachineDescription,
    ranks: Sequence[int],
    mpis: Sequence[str],
    base: Mapping[str, Any],
    takes: Callable[[Placement], None] = lambda placement: None,
) -> tuple[list[Spot], Counter[str]]:
    """Every way to put these numbers of ranks on the machine, and how many were left out for which reason.

    `base` are the fields of a placement that all have; `takes` raises BadInput for a placement that can't be had for
    another reason than its MPI's.
    """
    hosts = max(len(base.get("hosts") or ()), 1)
    wanted = [Placement.parse({**base, **fields}) for fields in _layouts(described, ranks, mpis, hosts)]
    left_out: Counter[str] = Counter()
    found: dict[tuple[str, int, str], Spot] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        told = pool.map(lambda placement: _where(placement, described, takes), wanted)
        for placement, (where, why) in zip(wanted, told, strict=True):
            if where is None:
                left_out[why] += 1
                continue
            key = (placement.mpi, placement.ranks, where)
            if key in found:
                left_out["come to the same as another"] += 1
                continue
            names = ("mpi", "ranks", "map_by", "bind_to", "cores_per_rank")
            found[key] = Spot(**{name: getattr(placement, name) for name in names}, where=where)
    return list(found.values()), left_out


def _layouts(
    described: MachineDescription, ranks: Sequence[int], mpis: Sequence[str], hosts: int
) -> Iterator[dict[str, Any]]:
    """What there is to ask for, the plainest first: that is kept of two that come to the same. Each of the hosts is
    like the machine."""
    cores = described.cores
    for name in mpis:
        for count in ranks:
            own = max(cores // math.ceil(count / hosts), 1)  # a fair share
            yield _layout(name, count, "auto", "core")
            yield _layout(name, count, "auto", "none")
            if count > 1 and own > 1:
                yield _layout(name, count, "auto", "core", own)
            if count > 1 and hosts > 1:
                yield _layout(name, count, "node", "core")
            if count > 1 and described.count("package") > 1:
                yield _layout(name, count, "package", "core")
            for resource, key in (("package", "package"), ("numa", "numa"), ("l3cache", "l3")):
                if described.count(key) > 1:
                    yield _layout(name, count, "auto", resource)
            if described.count("unit") > described.count("core"):
                yield _layout(name, count, "hwthread", "hwthread")


def _layout(name: str, ranks: int, map_by: str, bind_to: str, own: int = 1) -> dict[str, Any]:
    return {"mpi": name, "ranks": ranks, "map_by": map_by, "bind_to": bind_to, "cores_per_rank": own}


def _where(
    placement: Placement, described: MachineDescription, takes: Callable[[Placement], None]
) -> tuple[str | None, str]:
    """The places of the ranks as a text that is the same for the same places; None and the reason where they can't be
    had."""
    try:
        takes(placement)
        if not registry.mpi(placement.mpi).mapper:  # nobody can ask it: what it is told stands for what it does
            return " ".join(mpi.of(placement.mpi).arguments(placement, described.cores, described.machine)), ""
        told = mapper.predict(placement, described)
    except BadInput:
        return None, "are refused"
    except WorkshopError:  # a mapper that doesn't answer in time
        return None, "could not be asked about"
    if told.rank_map is None:
        return None, "are refused by their MPI"
    return masks(told.rank_map["ranks"]), ""


def masks(reports: Iterable[Mapping[str, Any]]) -> str:
    """The units of each rank, in the ranks' order, as a short text: `0-3|4-7`; what all ranks have, once."""
    each = [f"{report.get('host', '')}:{_span(report['units'])}" for report in reports]
    return f"{len(each)}*{each[0]}" if len(set(each)) == 1 else "|".join(each)


def _span(units: Sequence[int]) -> str:
    ordered = sorted(units)
    parts: list[list[int]] = []
    for unit in ordered:
        if parts and unit == parts[-1][1] + 1:
            parts[-1][1] = unit
        else:
            parts.append([unit, unit])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
