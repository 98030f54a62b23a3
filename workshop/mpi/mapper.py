"""The ranks' places as an MPI's own mapper computes them, for a real or an invented machine. Open MPI launches nothing
for that; MPICH's launcher starts programs that do nothing. For Intel MPI and MVAPICH2 documented rules tell the places.

Open MPI is asked for its map in words (`--display map`): version 5.0.11 cuts its XML off, or crashes, for ranks that
are bound to more than about half of a machine's cores.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workshop.core import machines, topology, words
from workshop.core.environment import own_environment
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.machines import MachineDescription
from workshop.core.placement import Host, Placement, positive
from workshop.mpi import (
    REFUSES,
    advice,
    module_of,
    mpich,
    mpirun_rsh,
    mvapich2,
    openmpi,
    pinning,
    prefix,
    reports,
    rules,
    system,
)
from workshop.mpi.advice import PlacementChange
from workshop.mpi.implementations import implementation

MAPPER_SECONDS = 20.0  # for all that a mapper is asked about one placement; mostly it takes a tenth of one
INVENTED = "host"  # what the only host of an invented machine is called
BROKEN_PIPES = 8  # times that MPICH's launcher is asked: on a busy machine its program may end before it is written to
MOST_PROCESSES = 256  # that MPICH's launcher may start on this machine to tell where they would run

# Settings that decide where ranks run, and that a placement can't keep.
_DECIDES = re.compile(
    r"-{1,2}(bind-to|map-by|rank-by|rankfile|rf|cpu-set|cpu-bind|distribution|m|hint)\b|SLURM_CPU_BIND|"
    r"MV2_(CPU_|HYBRID_BINDING|THREADS_PER_PROCESS|ENABLE_AFFINITY)|"
    r"(OMPI|PRTE)_MCA_(rmaps_|hwloc_(base|default)_(binding|cpu))"
)
_UNUSABLE = "hwloc, which Open MPI reads machines with, can't use this one; export it anew with lstopo."
_PLACELESS = (
    "No prediction: Open MPI takes this placement, but prints no place for its ranks; it names places by packages, "
    "and this machine's description has none."
)
_NOBODY = "240.0.{}.{}"  # addresses that nobody has: names would be looked up, and cut off at their first dot


@dataclass(frozen=True)
class Prediction:
    """An MPI mapper's answer for a placement: a map with its machine, or the reason of its refusal.

    `note` says what else matters, above all why there is no map. `advice` says what to change; `changes` are the same
    as placements, which the mapper has accepted.
    """

    rank_map: dict[str, Any] | None = None
    machine: dict[str, Any] | None = None  # all hosts
    refused: str | None = None
    advice: str | None = None
    note: str | None = None
    changes: tuple[PlacementChange, ...] = ()
    own_words: bool = True  # whether the refusal is in the MPI's own words
    warning: str | None = None  # of what runs, but slowly
    decided: bool = True  # by the placement, not by a setting that it can't keep


def predict(
    placement: Placement, described: MachineDescription, seconds: float = MAPPER_SECONDS, unknown: Sequence[str] = ()
) -> Prediction:
    """Ask the placement's MPI where its ranks would run on hosts of this kind (one, where it names none). Nobody is
    asked where one of the `unknown` words of a command line, or a variable, decides that.

    Raises BadInput where there is no such MPI and where hwloc can't use the machine, WorkshopError where a mapper
    doesn't answer within so many seconds: with a thousand ranks on as many cores it takes long.
    """
    settings = [*unknown, *(f"{name}={value}" for name, value in placement.environment.items())]
    deciding = [setting for setting in settings if _DECIDES.match(setting)]
    if deciding and all(setting.startswith("MV2_") and setting not in unknown for setting in deciding):
        answer = replace(_mvapich2(placement, described), decided=False)
        return replace(answer, warning=rules.crowded(placement, described, answer.rank_map))
    if deciding:
        what = f"{words.listed(deciding)} {words.verb(len(deciding), 'decides', 'decide')} where ranks run"
        return Prediction(note=f"No map: {what}, and that can't be read here.", decided=False)
    answer = _predict(placement, described, seconds)
    return replace(answer, warning=rules.crowded(placement, described, answer.rank_map) if not answer.refused else None)


def _predict(placement: Placement, described: MachineDescription, seconds: float) -> Prediction:
    name = implementation(placement.mpi).name
    if name == "system":
        return Prediction(machine=_hosts(placement, described), note=system.NO_MAP)
    if name == "intelmpi":
        return _intel_mpi(placement, described)
    ask = _ask_openmpi if name == "openmpi" else _ask_mpich
    return ask(placement, described, Deadline(seconds))


def _intel_mpi(placement: Placement, described: MachineDescription) -> Prediction:
    try:
        variables = rules.pins(placement, described)
    except BadInput as error:
        return Prediction(machine=_hosts(placement, described), refused=str(error), own_words=False)
    return _by_rules(placement, described, "Intel MPI", variables, pinning.places)


def _mvapich2(placement: Placement, described: MachineDescription) -> Prediction:
    variables = {name: value for name, value in placement.environment.items() if _DECIDES.match(f"{name}={value}")}
    return _by_rules(placement, described, mpirun_rsh.TITLE, variables, mvapich2.places)


def _by_rules(
    placement: Placement,
    described: MachineDescription,
    title: str,
    variables: Mapping[str, str],
    places: Callable[[Mapping[str, str], int, int, Iterable[Mapping[str, int]]], list[list[int]]],
) -> Prediction:
    """The map by an MPI's documented rules; without a map, the reason and the hosts of ranks."""
    machine = _hosts(placement, described)
    allowed = os.sched_getaffinity(0) if described.real else None
    rows = [row for row in described.units if allowed is None or row["unit"] in allowed]
    threads = positive(placement.rank_environment()["OMP_NUM_THREADS"]) or placement.threads_per_rank
    counts = {len(host_ranks) for host_ranks in rules.dealt_out(placement)} - {0}
    try:
        on_host = {count: places(variables, threads, count, rows) for count in sorted(counts)}
    except BadInput as error:
        return Prediction(machine=machine, note=f"No map: {error}{rules.hosts_in_words(placement)}")
    maps = {
        count: [
            {"local_rank": place, **topology.places(row for row in rows if row["unit"] in units)}
            for place, units in enumerate(host_places)
        ]
        for count, host_places in on_host.items()
    }
    likewise = " Hosts are taken to be like this machine." if described.real and placement.hosts else ""
    note = f"By {title}'s documented rules, not asked of the MPI.{likewise}"
    return Prediction(_on_hosts(placement, machine, maps), machine, note=note)


def _on_hosts(
    placement: Placement, machine: Mapping[str, Any], maps: Mapping[int, Sequence[Mapping[str, Any]]]
) -> dict[str, Any]:
    """The rank map of all hosts, from the reports of a host's ranks for each number of ranks that a host has."""
    names = [host.name for host in placement.hosts] or [machine["host"]]
    ranks = [
        {**report, "rank": rank, "host": name}
        for name, host_ranks in zip(names, rules.dealt_out(placement), strict=True)
        for rank, report in zip(host_ranks, maps[len(host_ranks)] if host_ranks else [], strict=True)
    ]
    return {"measured": False, "ranks": sorted(ranks, key=lambda report: report["rank"])}


def check(placement: Placement) -> None:
    """Refuse, before anything starts, what an MPI's mapper refuses on this machine. Raises BadInput, with the MPI's own
    words, WorkshopError where the mapper doesn't answer in time."""
    chosen, described, limit = implementation(placement.mpi), machines.this(), Deadline(MAPPER_SECONDS)
    module_of(chosen.name).launcher()
    if chosen.name == "system":
        system.check_outside_slurm()
    refused = None
    if chosen.name == "openmpi":
        refused = _map_of_openmpi(placement, described, limit).refused
    else:
        options = module_of(chosen.name).arguments(placement, described.cores)
        if chosen.mapper and not placement.hosts:  # whose mapper is there where the ranks are
            answer = _bindings_of_mpich(placement.ranks, options, described, limit)
            refused = mpich.refusal(answer.stdout + answer.stderr) if answer.returncode else None
    if refused is not None:
        raise BadInput(f"{chosen.title} {REFUSES}\n{refused}")


def _hosts(placement: Placement, described: MachineDescription) -> dict[str, Any]:
    """The machine of all hosts of a placement."""
    hosts = [host.name for host in placement.hosts] or [socket.gethostname() if described.real else INVENTED]
    return described.as_hosts(hosts)


def _ask_openmpi(placement: Placement, described: MachineDescription, limit: Deadline) -> Prediction:
    """Ask Open MPI's mapper, which launches nothing. Raises as `predict` does."""
    machine = _hosts(placement, described)
    answer = _map_of_openmpi(placement, described, limit)
    if answer.refused is None:
        rank_map = _read(answer.output, described, machine)
        if not all(report["units"] for report in rank_map["ranks"]):
            return Prediction(machine=machine, note=_PLACELESS)
        note = "Hosts are taken to be like this machine." if described.real and placement.hosts else None
        return Prediction(rank_map, machine, note=note)
    accepted: dict[str, PlacementChange] = {}
    for change in advice.changes(placement, described):
        if len(accepted) == advice.MOST_CHANGES or limit.remaining() <= 0:
            break
        if change.kind not in accepted and _map_of_openmpi(change.placement, described, limit).refused is None:
            accepted[change.kind] = change
    changes = tuple(accepted.values())
    return Prediction(None, machine, answer.refused, advice.sentence(changes), None, changes)


class Deadline:
    """The time by which all answers must be there."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def remaining(self) -> float:
        return self._end - time.monotonic()


@dataclass(frozen=True)
class _MapperOutput:
    output: str
    refused: str | None


def _map_of_openmpi(placement: Placement, described: MachineDescription, limit: Deadline) -> _MapperOutput:
    """Have mpirun print its map without launching anything."""
    names = {_NOBODY.format(*divmod(number, 250)): host.name for number, host in enumerate(placement.hosts, 1)}
    hosts = tuple(Host(name=alias, slots=host.slots) for alias, host in zip(names, placement.hosts, strict=True))
    arguments = openmpi.arguments(placement.model_copy(update={"hosts": hosts}), described.cores)
    asking = ["--do-not-launch", "--display", "map", "-n", str(placement.ranks)]
    command = [openmpi.launcher(), *asking, *arguments, "true"]
    completed = _run(command, described, openmpi.environment(), "Open MPI's", limit)
    output = completed.stdout
    printed = f"{completed.stdout}\n{completed.stderr}"
    for alias in reversed(names):  # 240.0.0.10 before 240.0.0.1
        output, printed = output.replace(alias, names[alias]), printed.replace(alias, names[alias])
    if not placement.hosts and not described.real:
        here = socket.gethostname()
        output = output.replace(f"Data for node: {here}\t", f"Data for node: {INVENTED}\t")
    if completed.returncode == 0:
        return _MapperOutput(output, openmpi.miscounted(output, placement))
    if described.xml is not None and (completed.returncode < 0 or "topology discovery failed" in printed):
        raise BadInput(_UNUSABLE)
    if completed.returncode < 0:
        raise WorkshopError(f"Open MPI's mapper was ended by signal {-completed.returncode}.")
    return _MapperOutput("", openmpi.refusal(printed) or f"exit code {completed.returncode}")


def _read(output: str, described: MachineDescription, machine: Mapping[str, Any]) -> dict[str, Any]:
    """The rank map in mpirun's words. Raises WorkshopError where they can't be read."""
    try:
        rank_map = reports.read(output, machine).rank_map
    except BadInput as error:
        if described.xml is not None:  # which may contradict itself
            raise BadInput(_UNUSABLE) from error
        raise WorkshopError(f"Open MPI's map can't be read: {error}") from error
    return _within_reach(rank_map, described)


def _within_reach(rank_map: dict[str, Any], described: MachineDescription) -> dict[str, Any]:
    """The same, but on this machine an unbound rank has what its launcher has: a container may hold back units."""
    everything = {row["unit"] for row in described.units}
    allowed = os.sched_getaffinity(0) & everything
    if not described.real or allowed == everything:
        return rank_map
    reach = topology.places(row for row in described.units if row["unit"] in allowed)
    ranks = [report | reach if set(report["units"]) == everything else report for report in rank_map["ranks"]]
    return {**rank_map, "ranks": ranks}


def _ask_mpich(placement: Placement, described: MachineDescription, limit: Deadline) -> Prediction:
    """Have MPICH's launcher start programs that do nothing, host by host on this machine, and tell where. Raises as
    `predict` does."""
    machine = _hosts(placement, described)
    try:
        options = _on_one_host(mpich.arguments(placement, described.cores, described.machine))
    except BadInput as error:
        return Prediction(machine=machine, refused=str(error), own_words=False)
    if "mpich" not in prefix.installed():
        note = "MPICH is not installed, so its mapper can't be asked; `workshop mpi install mpich` does that."
        return Prediction(machine=machine, note=note)
    ranks = rules.dealt_out(placement)
    if max(map(len, ranks)) > MOST_PROCESSES:
        note = (
            f"MPICH's mapper tells where ranks run by starting them; it is asked for up to {MOST_PROCESSES} on a host."
        )
        return Prediction(machine=machine, note=note)
    maps: dict[int, dict[str, Any]] = {}
    for count in sorted({len(host_ranks) for host_ranks in ranks} - {0}):
        completed = _bindings_of_mpich(count, options, described, limit)
        if completed.returncode != 0:
            return Prediction(machine=machine, refused=mpich.refusal(completed.stdout + completed.stderr))
        maps[count] = _of_one_host(completed.stdout, count, described)
    rank_map = _on_hosts(placement, machine, {count: reports_of["ranks"] for count, reports_of in maps.items()})
    return Prediction(_within_reach(rank_map, described), machine)


def _bindings_of_mpich(
    count: int, options: Sequence[str], described: MachineDescription, limit: Deadline
) -> subprocess.CompletedProcess[str]:
    """Have MPICH's launcher start so many programs that do nothing, and tell where."""
    command = [mpich.launcher(), "-launcher", "fork", "-n", str(count), *options, "true"]
    variables = {"HYDRA_TOPO_DEBUG": "1", **mpich.environment()}
    for _ in range(BROKEN_PIPES):
        completed = _run(command, described, variables, "MPICH's", limit)
        if completed.returncode != -signal.SIGPIPE:
            break
    return completed


def _on_one_host(options: list[str]) -> list[str]:
    """Hydra's options, without the options that assign ranks to hosts."""
    skipped = {at + more for at, word in enumerate(options) if word in ("-hosts", "-ppn") for more in (0, 1)}
    return [word for at, word in enumerate(options) if at not in skipped]


def _of_one_host(output: str, count: int, described: MachineDescription) -> dict[str, Any]:
    """Hydra's output on its bindings. It has no line for a rank that isn't bound."""
    if "binding:" not in output:
        everywhere = topology.places(described.units)
        ranks = [{"rank": rank, "host": "", "local_rank": rank, **everywhere} for rank in range(count)]
        return {"measured": False, "ranks": ranks}
    lines = [line for line in output.splitlines() if "binding:" in line]
    try:
        return reports.read("\n".join(lines), described.as_hosts(["localhost"])).rank_map
    except BadInput as error:
        raise WorkshopError(f"MPICH's bindings can't be read: {error}") from error


def _run(
    command: Sequence[str],
    described: MachineDescription,
    variables: Mapping[str, str],
    whose: str,
    limit: Deadline,
) -> subprocess.CompletedProcess[str]:
    """Run a launcher that takes the described machine for its own."""
    with _believing(described) as belief:
        try:
            return openmpi.asked_twice(command, {**own_environment(), **belief, **variables}, limit.remaining)
        except subprocess.TimeoutExpired:
            raise WorkshopError(
                f"{whose} mapper has not answered within {limit.seconds:g} s; ask about fewer ranks or cores."
            ) from None


@contextmanager
def _believing(described: MachineDescription) -> Iterator[dict[str, str]]:
    """Variables by which hwloc takes the described machine for this one."""
    if described.real:
        yield {}
    elif described.synthetic is not None:
        yield {"HWLOC_SYNTHETIC": described.synthetic}
    else:
        with tempfile.TemporaryDirectory(prefix="workshop-machine-") as folder:
            file = Path(folder) / "machine.xml"
            file.write_text(described.xml or "")
            yield {"HWLOC_XMLFILE": str(file)}
