"""A placement as commands to copy: mpirun of each MPI, MVAPICH2's launcher, horovodrun, and a script for Slurm.

A comment line names everything that a tool has no option for. The options are the ones with which sessions start ranks.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core.errors import BadInput
from workshop.core.machines import MachineDescription
from workshop.core.placement import USUAL_MPI, Placement, hosts_from
from workshop.mpi import mapper, module_of, mpirun_rsh, openmpi, rules
from workshop.mpi.implementations import IMPLEMENTATIONS, implementation
from workshop.mpi.mapper import Prediction

PROGRAM = ("python", "train.py")
TITLES = {  # of what no session is started with
    mpirun_rsh.LAUNCHER: f"{mpirun_rsh.TITLE}, by {mpirun_rsh.LAUNCHER}",
    "horovodrun": "Horovod (on Open MPI)",
    "sbatch": "Slurm, as a script for sbatch",
}


def commands(
    placement: Placement, described: MachineDescription, prediction: Prediction | None = None
) -> dict[str, str]:
    """The text of a command for each tool, by its name: lines that begin with # are remarks, the last is the command.
    The tools are all MPIs that can be used, `mpirun_rsh`, `horovodrun`, and `sbatch`.

    `sbatch` is a whole script, which starts the ranks with the placement's own MPI. `prediction` is the mapper's answer
    to the placement: MPIs deal ranks out to hosts by rules of their own, so that other tools need the hosts of its
    ranks. Empty where a setting decides that a placement can't keep: no command would say the same.
    """
    if prediction is not None and not prediction.decided:
        return {}
    rank_map = prediction.rank_map if prediction is not None else None
    tools = (*(name for name in IMPLEMENTATIONS if name != "system" or name == placement.mpi), *TITLES)
    return {tool: _text(tool, placement, described, rank_map) for tool in tools}


def _hosts_of_ranks(placement: Placement, rank_map: Mapping[str, Any] | None) -> list[str]:
    """The host of each rank; empty where there is one host without a name, or nobody knows it."""
    if not placement.hosts:
        return []
    if rank_map is not None:
        return [report["host"] for report in rank_map["ranks"]]
    return [] if placement.mpi == USUAL_MPI else mpirun_rsh.hosts_of_ranks(placement)


def _for_tool(
    tool: str, placement: Placement, described: MachineDescription, rank_map: Mapping[str, Any] | None
) -> Placement:
    """The placement by which a tool puts each rank where the rank map has it. Raises BadInput where the tool has no
    words for that."""
    if tool == placement.mpi:
        return placement
    pins = [f"{name}={value}" for name, value in placement.environment.items() if name.startswith("I_MPI_PIN")]
    if pins and placement.bind_to == "auto" and tool != "sbatch":
        raise BadInput(f"{titles()[tool]} has no words for the binding that {', '.join(pins)} asks for.")
    placement = _dealt(tool, placement, _hosts_of_ranks(placement, rank_map))
    ours, hydras = _is_hydra(placement.mpi, placement), _is_hydra(tool, placement)
    if rank_map is None or tool == "sbatch" or not (hydras or ours):
        return placement
    if hydras:
        same = rules.same_on_hosts(placement, described, rank_map)
    else:
        usual = placement.model_copy(update={"mpi": USUAL_MPI})
        usual_map = mapper.predict(usual, described).rank_map
        same = usual_map is not None and _places(usual_map) == _places(rank_map)
    if not same:
        raise BadInput(f"{titles()[tool]} has no words for this map: it would put ranks on other cores.")
    return placement


def _dealt(tool: str, placement: Placement, names: Sequence[str]) -> Placement:
    """The placement with hosts and slots by which a tool puts each rank on the host of that name; the same where no
    name is known. Raises BadInput where the tool has no words for that."""
    ours, hydras = _is_hydra(placement.mpi, placement), _is_hydra(tool, placement)
    if not names or (tool in IMPLEMENTATIONS and hydras and ours):
        return placement
    if not (hydras or ours):
        slots = ",".join(f"{name}:{names.count(name)}" for name in dict.fromkeys(names))
        return placement.model_copy(update={"hosts": hosts_from(slots)})
    by_node = placement.map_by == "node" or (placement.map_by in ("auto", "slot") and (not hydras or tool == "sbatch"))
    dealt = mpirun_rsh.dealt(names, by_node)
    if dealt is None or (dealt.get("oversubscribe") and (not hydras or tool == "sbatch")):
        raise BadInput(f"{titles()[tool]} has no words for ranks on the hosts {', '.join(names)} in this order.")
    if placement.map_by == "node":  # unless ranks follow each other as they do without that
        dealt = {"map_by": "auto", "per_resource": None} | dealt
    shared = placement.oversubscribe or bool(dealt.get("oversubscribe"))
    return Placement.parse(placement.model_dump() | dealt | {"oversubscribe": shared})


def _is_hydra(tool: str, placement: Placement) -> bool:
    """Whether a tool deals ranks out as Hydra does."""
    name = placement.mpi if tool == "sbatch" else tool
    return module_of(name).SHARES if name in IMPLEMENTATIONS else name == mpirun_rsh.LAUNCHER


def _places(rank_map: Mapping[str, Any]) -> list[Any]:
    return [(report["host"], report["units"]) for report in rank_map["ranks"]]


def titles() -> dict[str, str]:
    """The title of each tool, by its name."""
    return {name: mpi_class.title for name, mpi_class in IMPLEMENTATIONS.items()} | TITLES


def words(tool: str, placement: Placement, cores: int, described: MachineDescription | None = None) -> list[str] | None:
    """The words of a tool's command without the program; None where it has none for this placement."""
    try:
        return _words(tool, placement, cores, described)
    except BadInput:
        return None


def _text(tool: str, placement: Placement, described: MachineDescription, rank_map: Mapping[str, Any] | None) -> str:
    remarks: list[str] = []
    try:
        placement = _without_pins(tool, _for_tool(tool, placement, described, rank_map))
        remarks = _remarks(tool, placement, described)
        arguments = _words(tool, placement, described.cores, described)
    except BadInput as error:
        in_turn = {} if placement.map_by == "node" else {"map_by": "auto", "per_resource": None}
        plain = _without_pins(tool, placement).model_copy(update={**in_turn, "bind_to": "none"})
        remarks += [f"# {error}", "# Without mapping and binding it would be:"]
        try:
            arguments = _words(tool, plain, described.cores, described)
        except BadInput as further:
            alone = plain.model_copy(update={"hosts": (), "map_by": "auto", "per_resource": None})
            also = [f"# {further}"] if str(further) != str(error) else []
            remarks[-1:] = [*also, "# On this host alone, without mapping and binding, it would be:"]
            arguments = _words(tool, alone, described.cores, described)
    if tool == "sbatch":
        head, *body = arguments
        return "\n".join([head, *remarks, *body[:-1], f"{body[-1]} {shlex.join(PROGRAM)}"]) + "\n"
    return "\n".join([*remarks, " ".join([*map(quoted, arguments), *PROGRAM])])


def _without_pins(tool: str, placement: Placement) -> Placement:
    """The placement without Intel MPI's variables of pinning, which no other MPI reads."""
    if tool in (placement.mpi, "sbatch"):
        return placement
    environment = {name: value for name, value in placement.environment.items() if not name.startswith("I_MPI_PIN")}
    return placement.model_copy(update={"environment": environment})


def quoted(word: str) -> str:
    """A word as a shell takes it; a variable and an option keep their names outside of the quotes."""
    name, equals, value = word.partition("=")
    if equals and re.fullmatch(r"-{0,2}[A-Za-z_][A-Za-z0-9_-]*", name) and shlex.quote(value) != value:
        return f'{name}="{value}"' if re.fullmatch(r"[\w :=,./-]*", value) else f"{name}={shlex.quote(value)}"
    return shlex.quote(word)


def _words(tool: str, placement: Placement, cores: int, described: MachineDescription | None) -> list[str]:
    """The words of a command without the program (of a script: its lines). Raises BadInput where there are none."""
    variables = placement.rank_environment()
    if tool == mpirun_rsh.LAUNCHER:
        return mpirun_rsh.words(placement, cores)
    if tool == "horovodrun":
        return _horovodrun(placement, cores)
    if tool == "sbatch" and described is not None:
        return _script(placement, cores, described)
    return [*_started(tool, placement, cores, described), *module_of(tool).assignments(variables)]


def _started(name: str, placement: Placement, cores: int, described: MachineDescription | None) -> list[str]:
    """An MPI's command without variables. Raises BadInput."""
    machine = described.machine if described is not None else None
    options = module_of(name).arguments(placement, cores, machine)
    program = module_of(name).launcher() if name == "system" else implementation(name).command
    return [program, "-n", str(placement.ranks), *options]


def _horovodrun(placement: Placement, cores: int) -> list[str]:
    """Horovod binds no rank unless told; what its mpirun gets beyond hosts and ranks goes into two options."""
    options = _without_hosts(openmpi.arguments(placement, cores))
    binding, rest = options[:4], options[4:]
    hosts = ["-H", ",".join(f"{host.name}:{host.slots}" for host in placement.hosts)] if placement.hosts else []
    return [
        *(f"{name}={value}" for name, value in placement.rank_environment().items()),
        *("horovodrun", "-np", str(placement.ranks), *hosts),
        f"--binding-args={' '.join(binding)}",
        *([f"--mpi-args={' '.join(rest)}"] if rest else []),
    ]


def _script(placement: Placement, cores: int, described: MachineDescription) -> list[str]:
    """A batch script: Slurm gives the nodes, the MPI's own launcher starts the ranks on them."""
    placement = _dealt("sbatch", placement, _hosts_of_ranks(placement, None))
    nodes = len(placement.hosts) or 1
    most = max((host.slots for host in placement.hosts), default=placement.ranks)
    if placement.hosts:
        most = max(most, -(-placement.ranks // nodes))
    lines = [
        "#!/bin/bash",
        f"#SBATCH --nodes={nodes}",
        f"#SBATCH --ntasks={placement.ranks}",
        *_on_each_node(placement, cores, nodes, most, described),
    ]
    if placement.hosts:
        lines.append(f"#SBATCH --nodelist={','.join(host.name for host in placement.hosts)}")
    variables = placement.rank_environment()
    lines += [f"export {quoted(f'{name}={value}')}" for name, value in variables.items()]
    command = _started(placement.mpi, placement, cores, described)
    if not module_of(placement.mpi).FORWARDS:
        command += module_of(placement.mpi).exports(variables)
    return [*lines, " ".join(map(quoted, _without_hosts(command)))]


def _on_each_node(placement: Placement, cores: int, nodes: int, most: int, described: MachineDescription) -> list[str]:
    """The lines on the ranks of a node, of which one has `most`, and on their processors, which Slurm counts in
    hardware threads. Raises BadInput where it has no words for them."""
    bound = placement.binding(cores)
    units = described.count("unit")
    threads = units // described.count("core")
    task_units = placement.cores_per_rank * (1 if bound == "hwthread" else threads)
    wide = bound not in ("hwthread", "core")
    if wide and bound != "none":  # all of what it is bound to, or its share of a node
        task_units = max(task_units, min(units // described.count(bound), units // most))
    processors = [f"#SBATCH --cpus-per-task={task_units}"]
    if task_units * most > units:
        # Slurm shares ranks out evenly then, and takes no number of them.
        if most > -(-placement.ranks // nodes):
            words = f"{most} of {placement.ranks} ranks on a node with {units} processors"
            raise BadInput(f"Slurm has no words for {words}.")
        return [*processors, "#SBATCH --exclusive", "#SBATCH --overcommit"]
    # Ranks that aren't bound to cores may run on processors that no rank has asked for.
    return [f"#SBATCH --ntasks-per-node={most}", *processors, *(["#SBATCH --exclusive"] if wide else [])]


def _without_hosts(options: list[str]) -> list[str]:
    """Options for where somebody else says which hosts there are."""
    at = next((place for place, word in enumerate(options) if word in ("-H", "-hosts")), None)
    return options if at is None else options[:at] + options[at + 2 :]


def _remarks(tool: str, placement: Placement, described: MachineDescription) -> list[str]:
    """Comment lines on parts of a placement that a command leaves out or does differently."""
    remarks = []
    *full, last = [host.slots for host in placement.hosts] or [0]
    fewer = full and last < full[0] and placement.per_resource is None  # on the last host, when all ranks have a place
    if tool == "sbatch" and len({*full, last}) > 1 and not (fewer and len(set(full)) == 1) and placement.hosts:
        host_list = ", ".join(f"{host.name}:{host.slots}" for host in placement.hosts)
        remarks.append(
            f"# Slurm has no words for a number of ranks of each node's own ({host_list}); this is the most."
        )
    if tool == mpirun_rsh.LAUNCHER:
        remarks.append(f"# Sessions can't be started with {mpirun_rsh.TITLE}; this is for a machine that has it.")
    if tool == "horovodrun" and placement.mpi != "openmpi":
        remarks.append("# This starts ranks with Open MPI, which Horovod is linked to, whatever the placement's MPI.")
    if tool in IMPLEMENTATIONS and placement.oversubscribe and module_of(tool).SHARES:
        remarks.append(f"# {implementation(tool).title} shares cores and slots without being asked.")
    return remarks
