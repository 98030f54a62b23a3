"""Machines as lstopo writes them, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">\n'


def written(machine: Mapping[str, Any], interleaved: bool = False, numbers: Sequence[int] | None = None) -> str:
    """The file of a machine. `interleaved`: the operating system numbers the first hardware threads of all cores
    before all second ones, as Linux does; `numbers`: it numbers the units so, which are in logical order. Objects come
    in the order of their lowest units, as hwloc writes them."""
    rows = sorted(machine["units"], key=lambda row: (row["core"], row["unit"]))
    threads = [place for _, of_core in groupby(rows, key=lambda row: row["core"]) for place, _ in enumerate(of_core)]
    order = sorted(range(len(rows)), key=lambda at: (threads[at], at) if interleaved else at)
    number = {at: count for count, at in enumerate(order)}
    units = [row | {"unit": numbers[at] if numbers else number[at]} for at, row in enumerate(rows)]
    nodes = 2 ** len({row["numa"] for row in units}) - 1

    def sets(some: list[dict[str, int]]) -> str:
        cpus, mask = "", sum(1 << row["unit"] for row in some)
        words = [f"0x{mask >> 32 * place & 0xFFFFFFFF:08x}" for place in range(max(mask.bit_length() - 1, 0) // 32 + 1)]
        near = sum(1 << node for node in {row["numa"] for row in some})
        cpus = ",".join(reversed(words))
        return (
            f'cpuset="{cpus}" complete_cpuset="{cpus}" nodeset="0x{near:08x}" complete_nodeset="0x{near:08x}" '
            f'gp_index="{next(names)}"'
        )

    def split(some: list[dict[str, int]], kind: str) -> list[list[dict[str, int]]]:
        parts = [[row for row in some if row[kind] == one] for one in {row[kind] for row in some}]
        return sorted((sorted(part, key=lambda row: row["unit"]) for part in parts), key=lambda part: part[0]["unit"])

    def node(some: list[dict[str, int]]) -> str:
        memory = f'local_memory="{1 << 30}"'
        return f'<object type="NUMANode" os_index="{some[0]["numa"]}" {sets(some)} {memory}/>\n'

    def cores(some: list[dict[str, int]]) -> str:
        return "".join(
            f'<object type="Core" os_index="{core[0]["core"]}" {sets(core)}>\n'
            + "".join(f'<object type="PU" os_index="{row["unit"]}" {sets([row])}/>\n' for row in core)
            + "</object>\n"
            for core in split(some, "core")
        )

    def cache(some: list[dict[str, int]], inside: str) -> str:
        about = 'cache_size="16777216" depth="3" cache_linesize="64" cache_associativity="0" cache_type="0"'
        return f'<object type="L3Cache" {sets(some)} {about}>\n{inside}</object>\n'

    def group(some: list[dict[str, int]], inside: str) -> str:
        return f'<object type="Group" {sets(some)} kind="0" subkind="0">\n{inside}</object>\n'

    names = iter(range(1, 1 << 20))
    body = ""
    for package in split(units, "package"):
        inside = ""
        near, caches = split(package, "numa"), split(package, "l3")
        if len(near) == 1:
            inside = node(package) + "".join(cache(some, cores(some)) for some in caches)
        elif len(caches) >= len(near):
            for some in near:
                inside += group(some, node(some) + "".join(cache(part, cores(part)) for part in split(some, "l3")))
        else:
            for some in caches:
                parts = "".join(group(part, node(part) + cores(part)) for part in split(some, "numa"))
                inside += cache(some, parts)
        body += f'<object type="Package" os_index="{package[0]["package"]}" {sets(package)}>\n{inside}</object>\n'
    whole = sets(units).split('"')[1]
    root = f'os_index="0" {sets(units)} allowed_cpuset="{whole}" allowed_nodeset="0x{nodes:08x}"'
    return f'{HEAD}<object type="Machine" {root}>\n{body}</object>\n</topology>\n'
