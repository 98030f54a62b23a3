"""Where MVAPICH2 binds the ranks of a host by its documented rules (User Guide 2.3, "Running with Efficient CPU (Core)
Mapping"): MV2_CPU_MAPPING, MV2_CPU_BINDING_POLICY, MV2_CPU_BINDING_LEVEL and MV2_HYBRID_BINDING_POLICY.

The guide leaves details open: they are from the library's own source. No MVAPICH2 has been compared with these rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from workshop.core import topology, words
from workshop.core.errors import BadInput
from workshop.core.placement import positive
from workshop.mpi.mpirun_rsh import AFFINITY, CORES, HYBRID, LEVEL, POLICY, TITLE
from workshop.mpi.pinning import Row, Rows, groups

MAPPING = "MV2_CPU_MAPPING"
_READ = {AFFINITY, CORES, HYBRID, LEVEL, POLICY, MAPPING}
_LEVELS = {"core": "core", "socket": "package", "numanode": "numa"}
_POLICIES = ("bunch", "scatter", "hybrid")
_HYBRIDS = ("linear", "compact", "spread", "bunch", "scatter", "numa")
_MAPPING = re.compile(r"\d{1,4}(-\d{1,4})?([,:]\d{1,4}(-\d{1,4})?)*")


def places(variables: Mapping[str, str], threads: int, count: int, rows: Iterable[Row]) -> list[list[int]]:
    """The processing units of each of a host's `count` ranks. They have so many threads (OMP_NUM_THREADS) unless
    MV2_THREADS_PER_PROCESS says otherwise.

    `variables` are those of binding, `rows` the units of the host. Raises BadInput with the reason where the rules
    don't say it, or MVAPICH2 refuses it.
    """
    ordered = sorted(rows, key=lambda row: (row["package"], row["core"], row["unit"]))
    if variables.get(AFFINITY, "1") == "0":
        return [sorted(row["unit"] for row in ordered)] * count
    if unread := sorted(set(variables) - _READ):
        raise BadInput(f"No rules are drawn for {words.listed(unread)}.")
    if MAPPING in variables:
        return _mapped(variables[MAPPING], count, {row["unit"] for row in ordered})
    policy = _word(variables, POLICY, "hybrid", _POLICIES)
    hybrid, level = _word(variables, HYBRID, "linear", _HYBRIDS), _word(variables, LEVEL, "core", tuple(_LEVELS))
    each = positive(variables.get(CORES, str(threads)))
    if each is None:
        raise BadInput(f"{CORES} is {variables[CORES][:40]!r}; it should be a number of threads from 1 to 1024.")
    needed = count * (each if policy == "hybrid" else 1)
    if needed > len(ordered):
        raise BadInput(
            f"{TITLE} refuses {words.count(needed, 'thread')} on a host of {words.count(len(ordered), 'processor')}; "
            f"it should be fewer, or {AFFINITY}=0."
        )
    if policy == "hybrid":
        return [sorted(row["unit"] for row in domain) for domain in _bound(hybrid, each, count, ordered)]
    if policy == "bunch" and level != "core":
        raise BadInput(
            f"{POLICY}=bunch can't be drawn with {LEVEL}={level}: the guide doesn't say who shares a {level}."
        )
    around = {row["unit"]: row[_LEVELS[level]] for row in ordered}
    firsts = [domain[0]["unit"] for domain in _bound(policy, 1, count, ordered)]
    return [[first] if level == "core" else sorted(u for u in around if around[u] == around[first]) for first in firsts]


def _word(variables: Mapping[str, str], name: str, usual: str, right: Sequence[str]) -> str:
    word = variables.get(name, usual).lower()
    if word not in right:
        raise BadInput(f"{name} is {word[:40]!r}; it should be {words.listed(right, 'or')}.")
    return word


def _mapped(text: str, count: int, everything: set[int]) -> list[list[int]]:
    """The units of each rank in a list like 0:2-3:5,7. Raises BadInput."""
    parts = [set(topology.parse_cpu_list(part)) for part in text.split(":")] if _MAPPING.fullmatch(text) else []
    if len(parts) < count or not all(part and part <= everything for part in parts):
        raise BadInput(
            f"{MAPPING} is {text[:40]!r}; it should be like 0:1 or 0,2-3:5, with processors of the host for each of "
            f"{words.count(count, 'rank')}."
        )
    return [sorted(part) for part in parts[:count]]


def _bound(policy: str, threads: int, count: int, rows: Rows) -> list[Rows]:
    """The units to which a policy binds each rank. Raises BadInput."""
    cores = groups(rows, "core")
    if policy == "linear":  # cores one after the other, and their further hardware threads when all have a thread
        deep = max(map(len, cores))
        in_turn = [core[place] for place in range(deep) for core in cores if place < len(core)]
        return [in_turn[rank * threads : (rank + 1) * threads] for rank in range(count)]
    if policy == "compact" and threads > min(map(len, cores)):
        raise BadInput(
            f"{HYBRID}=compact puts all {threads} threads of a rank on one core; {CORES} should be at most its "
            "hardware threads, or the policy linear or spread."
        )
    share = len(cores) // count
    if policy == "spread" and share > 1:
        return [list(chain.from_iterable(cores[rank * share : (rank + 1) * share])) for rank in range(count)]
    level = {"spread": "package", "scatter": "package", "numa": "numa"}.get(policy)
    parts = [groups(part, "core") for part in groups(rows, level)] if level else [cores]
    if policy == "scatter" and len(parts) < 2:
        raise BadInput(f"{TITLE} refuses scatter on a machine of one package; the policy should be bunch.")
    each, more = divmod(count, len(parts))
    if each + bool(more) > min(map(len, parts)) or (policy == "spread" and more):
        raise BadInput(
            f"{words.count(count, 'rank')} can't be drawn for {policy}: they don't share out over "
            f"{words.count(len(parts), 'part')} of the machine with {words.count(len(cores), 'core')} in all."
        )
    if policy == "spread":
        return [core for part in parts for core in part[:each]]
    in_order = [parts[rank % len(parts)][rank // len(parts)] for rank in range(count)]
    return [core[: threads if policy == "compact" else 1] for core in in_order]
