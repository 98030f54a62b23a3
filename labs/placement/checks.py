"""Checks of the exercises on placement. Open MPI's own mapper says what a placement does; it starts nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from numbers import Integral
from typing import Any

from workshop.core import machines
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.course.exercise_checks import Hint, exercise
from workshop.course.trials import called
from workshop.mpi import mapper
from workshop.report.analysis.threads import oversubscription

# Hosts, sockets of each, cores of each socket.
MACHINES = (
    (("hostA", "hostB", "hostC"), 2, 4),
    (("hostA",), 2, 8),
    (("hostA", "hostB"), 4, 2),
)
# Sockets, cores of each, hardware threads of each core, ranks on the host.
SHAPES = (
    (2, 4, 1, 2),
    (2, 4, 2, 2),
    (2, 4, 1, 4),
    (2, 3, 1, 3),
    (2, 8, 2, 3),
    (4, 6, 2, 8),
    (1, 2, 1, 2),
    (2, 10, 2, 7),
    (2, 4, 1, 16),
)
# Text of a report, and the cores of each rank in it: each is known because the text was made of it.
REPORTS: tuple[tuple[str, dict[int, set[int] | None]], ...] = (
    (
        "[hostA:4711] Rank 0 bound to package[0][core:L0]\n[hostA:4711] Rank 1 bound to package[0][core:L1]\n",
        {0: {0}, 1: {1}},
    ),
    (
        "[hostA:4711] Rank 0 bound to package[0][core:L0-3]\n[hostA:4711] Rank 1 bound to package[1][core:L4-7]\n",
        {0: {0, 1, 2, 3}, 1: {4, 5, 6, 7}},
    ),
    (
        "[hostB:52] Rank 3 bound to package[1][core:L4,6]\nstep 1 of 10, rank 3 has 2 threads\n"
        "[hostB:52] Rank 2 bound to package[0][core:L0-1,3]\n",
        {2: {0, 1, 3}, 3: {4, 6}},
    ),
    (
        "[node1:7] Rank 10 bound to package[1][core:L10-12]\n[node1:7] Rank 9 bound to package[0][core:L9]\n",
        {9: {9}, 10: {10, 11, 12}},
    ),
    (
        "[node1:7] Rank 0 is not bound (or bound to all available processors)\n"
        "[node1:7] Rank 1 bound to package[0][core:L2-3] package[1][core:L4-5]\n",
        {0: None, 1: {2, 3, 4, 5}},
    ),
)
THREADS, RANKS = 2, 4  # of the placement to mend
BROKEN_MACHINE = "2x4"


def _placement(fields: Any) -> Placement:
    """The placement of these fields. Raises Hint."""
    if not isinstance(fields, Mapping):
        raise Hint(f"A placement is a dict of its fields, like {{'ranks': 2}}; this is {type(fields).__name__}.")
    try:
        return Placement.parse(fields)
    except BadInput as error:
        raise Hint(f"That is no placement: {str(error).rstrip('.')}.") from error


def _ranks(placement: Placement, machine: str) -> tuple[list[Mapping[str, Any]], Mapping[str, Any] | None]:
    """Where the mapper puts the ranks, and the machine. Raises Hint where it refuses."""
    found = mapper.predict(placement, machines.read(machine))
    if found.refused is not None:
        more = f" {found.advice}" if found.advice else ""
        raise Hint(f"The mapper refuses it on {machine}, in its words: {found.refused}{more}")
    if found.rank_map is None:
        raise Hint(f"This can't be checked: {found.note} Leave mpi as it is, Open MPI.")
    return found.rank_map["ranks"], found.machine


@exercise(
    "socket_each",
    hint=(
        "Compare with the cell of `workshop.place` above: the mapping was by package, with one rank per "
        "resource. How many cores has each rank to own, and how many ranks are there on all hosts?"
    ),
    reason=(
        "One rank per package, with all cores of the package, leaves nothing to share. The slots of a host "
        "are its number of sockets."
    ),
)
def socket_each(given: Any) -> None:
    """On every host a rank on each socket, which owns all of its cores."""
    for names, sockets, cores in MACHINES:
        fields = called("socket_each", given, list(names), sockets, cores)
        which = f"{len(names)} {'host' if len(names) == 1 else 'hosts'} of {sockets} sockets with {cores} cores"
        if isinstance(fields, Mapping) and not fields.get("hosts"):
            raise Hint(f"For {which}: the placement names no hosts, so it is for one machine alone. Look at `hosts`.")
        placement = _placement(fields)
        if {host.name for host in placement.hosts} != set(names):
            raise Hint(f"For {which}: it should use all of {', '.join(names)}, and no others.")
        if placement.ranks != len(names) * sockets:
            raise Hint(f"For {which}: it has ranks={placement.ranks}. Count the sockets of all hosts.")
        reports, _ = _ranks(placement, f"{sockets}x{cores}")
        for one in reports:
            if len(one["packages"]) > 1:
                raise Hint(
                    f"For {which}: rank {one['rank']} may run on sockets {one['packages']}. What keeps a rank where it "
                    "was put? Look at `bind_to`."
                )
        owners: dict[tuple[str, int], int] = {}
        for one in reports:
            place = one["host"], one["packages"][0]
            if place in owners:
                raise Hint(
                    f"For {which}: ranks {owners[place]} and {one['rank']} are on the same socket of {place[0]}, so "
                    "another socket is idle. Over which resource should ranks be dealt out?"
                )
            owners[place] = one["rank"]
        for one in reports:
            if len(one["cores"]) != cores:
                raise Hint(
                    f"For {which}: the sockets are right, but rank {one['rank']} may use {len(one['cores'])} of its "
                    f"socket's {cores} cores. Which field says how wide a rank is?"
                )


@exercise(
    "cores_of",
    hint=(
        '`re.search` for the rank\'s number in each line, then `re.findall(r"core:L([0-9,-]+)", line)` for '
        "every package of the line. A piece like 2-5 means 2, 3, 4 and 5."
    ),
    reason=(
        "Every package of a line has its own list of cores. A range includes both ends, and a line without "
        "cores is a rank that isn't bound."
    ),
)
def cores_of(given: Any) -> None:
    """A report of bindings, read into a set of cores for each rank."""
    for text, right in REPORTS:
        try:
            found = called("cores_of", given, text)
        except ValueError as error:
            if re.search(r"L[0-9-]+,", text):
                raise Hint(
                    f"It raised ValueError ({error}). In core:L4,6 a comma parts several ranges or cores: take them "
                    "one by one."
                ) from error
            raise
        if not isinstance(found, Mapping):
            raise Hint(f"It should return a dict, rank to set of cores; this is {type(found).__name__}.")
        for rank, cores in right.items():
            line = next(line for line in text.splitlines() if f"Rank {rank} " in line)
            if rank not in found:
                _missing(rank, cores, found, line)
            _compare(found[rank], cores, line)
        if extra := sorted(set(found) - set(right), key=str):
            raise Hint(f"It has rank {extra[0]!r}, which the report doesn't: not every line with a rank is a binding.")


def _missing(rank: int, cores: set[int] | None, found: Mapping[Any, Any], line: str) -> None:
    if str(rank) in found:
        raise Hint(f"Rank {rank} is there as the text {str(rank)!r}; ranks are numbers.")
    if cores is None:
        raise Hint(f"Rank {rank} is missing. It isn't bound, and should be there with None: «{line}»")
    if rank > 9 and (rank % 10 in found or rank // 10 in found):
        raise Hint(f"Rank {rank} is missing: numbers may have more than one digit: «{line}»")
    raise Hint(f"Rank {rank} is missing, although the report has it: «{line}»")


def _compare(got: Any, right: set[int] | None, line: str) -> None:
    if right is None:
        if got is not None:
            raise Hint(f"A rank that isn't bound may run anywhere: None, and not {got!r}, for «{line}»")
        return
    if got is None:
        raise Hint(f"This rank is bound, but has None: «{line}»")
    if not isinstance(got, (set, frozenset)):
        raise Hint(f"Cores should be a set, like {{0, 1}}; this is {got!r:.60}: «{line}»")
    if any(isinstance(core, str) for core in got):
        raise Hint(f"Cores are numbers; this set has texts: {sorted(map(str, got))}.")
    if got == right:
        return
    if not got:
        raise Hint(f"No core was read from «{line}»: a core may stand alone, and it may be in a range.")
    packages = {int(part.partition("]")[0]) for part in line.split("package[")[1:]}
    low, high = min(right), max(right)
    if got == packages:
        raise Hint(f"{sorted(got)} is the number of the package, not of cores: «{line}»")
    if got == right | packages:
        raise Hint(f"{sorted(got)} has the package's number among the cores: «{line}»")
    if got == right - {high} or (len(right) > 1 and got < right and high not in got and low in got):
        raise Hint(f"The last core of a range, or what comes behind it, is missing ({sorted(got)}): «{line}»")
    if got == {low, high}:
        raise Hint(f"A range has all cores from its first to its last, not these two alone ({sorted(got)}): «{line}»")
    if any(len(str(core)) > 1 for core in right) and all(core < 10 for core in got):
        raise Hint(f"Numbers of cores may have more than one digit; {sorted(got)} was read from «{line}»")
    if "," in line and got < right:
        raise Hint(f"A comma parts several ranges or cores; {sorted(got)} is a part of them only: «{line}»")
    if len(packages) > 1 and got < right:
        raise Hint(f"A rank may have cores of several packages; {sorted(got)} is of one of them only: «{line}»")
    raise Hint(f"{sorted(got)} isn't what this line says: «{line}»")


@exercise(
    "threads_per_rank",
    hint=(
        "The fullest socket decides: how many ranks does it have, if the ranks are dealt out evenly? Each of "
        "these gets an equal number of its cores, at least one."
    ),
    reason=(
        "The fullest socket has `ranks / sockets`, rounded up. All ranks take the number that fits there, and"
        " hardware threads don't count as cores."
    ),
)
def threads_per_rank(given: Any) -> None:
    """As many threads for each rank as let every thread have a core of the rank's own socket."""
    for sockets, cores, hardware, ranks in SHAPES:
        got = called("threads_per_rank", given, sockets, cores, hardware, ranks)
        right = _fit(sockets, cores, ranks)
        which = f"{ranks} ranks on {sockets}x{cores}x{hardware} (sockets x cores x hardware threads)"
        if isinstance(got, bool) or not isinstance(got, (Integral, float)):
            raise Hint(f"The answer should be a number; for {which} it is {got!r:.60}.")
        if not isinstance(got, Integral):
            raise Hint(f"Threads come whole: for {which} it is {got!r}. Which division gives a whole number?")
        if got == right:
            continue
        if got < 1:
            raise Hint(f"For {which} it is {got}. A rank always has one thread at least, even if cores don't suffice.")
        if hardware > 1 and got == _fit(sockets, cores * hardware, ranks):
            raise Hint(f"For {which} it is {got}: that counts hardware threads, which share their core's arithmetic.")
        if got == max(sockets * cores // ranks, 1):
            raise Hint(
                f"For {which} it is {got}. The host has cores for that, but then some rank's threads would lie on two "
                "sockets. How many ranks does the fullest socket have?"
            )
        if got == max(cores // ranks, 1):
            raise Hint(f"For {which} it is {got}: as if all were on one socket. There are {sockets} sockets.")
        if got > right:
            raise Hint(f"For {which} it is {got}: there, more threads want a core of some socket than it has.")
        raise Hint(f"For {which} it is {got}, which leaves cores idle that ranks could use.")


def _fit(sockets: int, cores: int, ranks: int) -> int:
    """By trying: the largest number of threads with which all ranks find a place within a socket; 1 at least."""
    for threads in range(cores, 0, -1):
        if sockets * (cores // threads) >= ranks:
            return threads
    return 1


@exercise(
    "mended",
    hint=(
        "Each rank needs two cores that no other rank has, on one socket. Which field says how many cores a rank owns?"
    ),
    reason=(
        "Two cores per rank and a binding to them give each thread a core. Mapped by package, no rank has "
        "cores of both sockets."
    ),
)
def mended(given: Any) -> None:
    """Four ranks with two threads each on 2x4, where each thread has a core and no rank leaves its socket."""
    placement = _placement(given)
    if placement.ranks != RANKS:
        raise Hint(f"It has ranks={placement.ranks}; the job has {RANKS} ranks, and should keep them.")
    if placement.threads_per_rank != THREADS:
        raise Hint(
            f"It has threads={placement.threads_per_rank}; the program needs its {THREADS} threads. It is the cores "
            "that don't suffice."
        )
    if placement.hosts:
        raise Hint("It names hosts; the job is for one host alone.")
    reports, machine = _ranks(placement, BROKEN_MACHINE)
    for one in reports:
        if len(one["packages"]) > 1:
            raise Hint(
                f"Now rank {one['rank']} may run on both sockets: its threads may wander away from the memory that "
                "they have written. Let each rank keep to a socket."
            )
    for one in reports:
        if len(one["cores"]) < THREADS:
            raise Hint(
                f"Rank {one['rank']} may use {len(one['cores'])} core for its {THREADS} threads, so they take turns. "
                "Which field gives a rank more cores?"
            )
    for crowd in oversubscription({"ranks": reports}, machine, THREADS):
        raise Hint(
            f"Ranks {', '.join(map(str, crowd.ranks))} have {crowd.cores} cores together for {crowd.threads} threads, "
            "and others are idle. Over what should the ranks be dealt out?"
        )
