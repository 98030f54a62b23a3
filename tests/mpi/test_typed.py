"""Commands as people type them: what is predicted for one is what the real mapper says of the very same words."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import mpis
from tests.core.test_machines import renumbered
from tests.support import limit
from workshop.core import machines
from workshop.core.errors import BadInput
from workshop.core.machines import MachineDescription
from workshop.core.placement import Placement, hosts_from
from workshop.mpi import command_lines, mapper, openmpi, reader, reports

pytestmark = pytest.mark.real
SHAPES = ["2x4x2", "1x4,l3=2", "2x4,numa=2", "1x2", "2x2x2", "3x2", "1x1"]
OVER = ["core", "slot", "node", "package", "socket", "numa", "l3cache", "hwthread", ""]
ON_EACH = ["package", "socket", "core", "node", "numa", "l3cache", "hwthread"]
BINDINGS = ["core", "none", "package", "socket", "numa", "l3cache", "hwthread"]
REFUSED = "refused"
Map = list[tuple[str, list[int]]]  # host and units of each rank


@pytest.fixture
def mpich(workshop_home: Path) -> None:
    mpis.use(workshop_home, "mpich")


def rarely(*words: str) -> st.SearchStrategy[str]:
    """One of these words, or none, which is likelier."""
    return st.sampled_from(["", "", "", "", *words])


@st.composite
def typed(draw: st.DrawFn, machine: MachineDescription) -> str:
    """mpirun's options. Hosts have no more slots than cores, beyond which Open MPI binds as far as it can."""
    said = draw(st.sampled_from(["", "-n {}", "-np {}"])).format(draw(st.integers(1, 12)))
    slots = draw(st.lists(st.none() | st.integers(1, min(machine.cores, 4)), max_size=3))
    if slots:
        hosts = ("hostA", "hostB", "hostC")
        named = [name if slot is None else f"{name}:{slot}" for name, slot in zip(hosts, slots, strict=False)]
        said += f" {draw(st.sampled_from(['-H', '--host']))} {','.join(named)}"
    on_each = st.builds("ppr:{}:{}".format, st.integers(1, 4), st.sampled_from(ON_EACH))
    by = draw(st.sampled_from(OVER) | on_each)
    own, share = draw(rarely("pe=1", "pe=2")), draw(rarely("OVERSUBSCRIBE"))
    mapping = ":".join([by, *filter(None, (own, share, draw(rarely("HWTCPUS"))))])
    said += f" --map-by {mapping}" if mapping and draw(st.booleans()) else f" {draw(rarely('-N 1', '-N 2'))}"
    said += f" {draw(rarely('--oversubscribe'))}"
    if draw(st.booleans()):
        # Open MPI binds to a part of a core then, but tells the whole core.
        part = "pe=" in said and machine.count("unit") not in (machine.cores, 2 * machine.cores)
        binding = draw(st.sampled_from(BINDINGS[:-1] if part else BINDINGS))
        said += f" --bind-to {binding}{draw(rarely(':overload-allowed'))}"
    return " ".join(said.split())


def mapped(options: str, machine: MachineDescription) -> Map | str:
    """What the mapper says; more ranks than were asked for can't be started, either."""
    with mapper._believing(machine) as belief:
        done = subprocess.run(
            [openmpi.launcher(), "--do-not-launch", "--display", "map", *options.split(), "true"],
            env=os.environ | openmpi.environment() | belief,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
    asked = re.search(r"-np? (\d+)", options)
    if done.returncode != 0 or (asked and int(asked[1]) != done.stdout.count("Data for proc:")):
        return REFUSED
    return _ranks(reports.read(done.stdout, machine.machine).rank_map["ranks"], options)


def predicted(options: str, machine: MachineDescription) -> Map | str | None:
    """What is predicted; None where something of the command is named as not understood."""
    try:
        read = reader.parse(f"mpirun {options} true", None, machine)
    except BadInput:
        return REFUSED
    found = mapper.predict(read.placement, machine).rank_map
    return None if read.unknown else REFUSED if found is None else _ranks(found["ranks"], options)


def _ranks(ranks: list[dict], options: str) -> Map:
    named = "-H " in options or "--host " in options
    return [(one["host"] if named else "", one["units"]) for one in ranks]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_what_is_predicted_for_a_command_is_what_the_mapper_says_of_it(data: st.DataObject) -> None:
    machine = data.draw(st.sampled_from(SHAPES).map(machines.read) | renumbered())
    options = data.draw(typed(machine))
    found = predicted(options, machine)
    assert found is None or found == mapped(options, machine)


@pytest.mark.parametrize(
    ("shape", "options", "ranks"),
    [
        ("2x4x2", "", 8),
        ("2x4", "--map-by ppr:2:package", 4),
        ("2x4", "--map-by ppr:2:package:pe=1", 4),
        ("2x4", "-n 4 --map-by ppr:2:package:pe=1", 4),
        ("2x4", "--map-by slot:pe=3", 2),
        ("2x4", "-H hostA:2,hostB:3", 5),
        ("2x4", "-H hostA:2,hostB:2 -n 4 --oversubscribe", 4),
        ("2x4", "-H hostA:2,hostB:2 -n 6 --oversubscribe", 6),
        ("2x4", "-n 9 --bind-to core:overload-allowed", None),
        ("2x4", "-n 9 --bind-to core:overload-allowed --oversubscribe", 9),
        ("2x4", "-n 9 --bind-to core --oversubscribe", None),
        ("2x4", "-n 9 --bind-to numa:overload-allowed", None),
        ("2x4", "-n 1 --map-by ppr:2:package", None),
        ("2x4", "-n 3 --map-by ppr:2:package", None),
        ("2x4", "-n 2 -H hostA:2 --map-by ppr:4:package", 2),
        ("2x4", "-n 2 -H hostA:2 --map-by ppr:5:package", None),
        ("2x4", "-n 2 -H hostA:2 --map-by ppr:5:package --bind-to none", 2),
        ("2x4", "-n 4 --map-by package:pe=1 --bind-to package", None),
        ("2x2x2", "-n 2 --map-by ppr:1:hwthread", None),
        ("2x2x2", "-n 2 --map-by slot:pe=2 --bind-to hwthread", 2),
        ("2x2x2", "-n 8 --map-by hwthread:HWTCPUS", None),
        ("2x4x2", "-n 4 --map-by core:SPAN", 4),
        ("2x4", "-H hostA:3,hostB:3 -n 5 --map-by core:SPAN --bind-to core", 5),
        ("2x4x2", "-n 4 --map-by slot:SPAN", 4),
    ],
)
def test_commands_that_were_misread(shape: str, options: str, ranks: int | None) -> None:
    machine = machines.read(shape)
    found = predicted(options, machine)
    assert found == mapped(options, machine)
    assert found == REFUSED if ranks is None else len(found or "") == ranks


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ("2x4,numa=2", "-H hostA:4,hostB:4 -n 7 --map-by l3cache:pe=2:OVERSUBSCRIBE --bind-to core"),
        ("2x4x2", "-H hostA:4,hostB:4 -n 4 --map-by l3cache:pe=4:OVERSUBSCRIBE"),
    ],
)
def test_what_the_mapper_takes_is_not_refused_in_its_name(shape: str, options: str) -> None:
    """A placement can't keep all of these words, but it has the same map."""
    machine = machines.read(shape)
    read = reader.parse(f"mpirun {options} true", None, machine)
    found = mapper.predict(read.placement, machine)
    assert read.unknown and found.refused is None and found.rank_map is not None
    assert _ranks(found.rank_map["ranks"], options) == mapped(options, machine)


def test_span_is_named_where_it_deals_out_otherwise() -> None:
    read = reader.parse("mpirun -n 4 --map-by package:SPAN true", None, machines.read("2x4"))
    assert read.unknown == (":SPAN of --map-by package:SPAN",)


def placed(placement: Placement, machine: MachineDescription) -> Map | None:
    """What the placement's MPI says of it; None where it says nothing."""
    rank_map = mapper.predict(placement, machine, limit(60)).rank_map
    return [(one["host"], one["units"]) for one in rank_map["ranks"]] if rank_map else None


def read_back(placement: Placement, machine: MachineDescription) -> dict[str, Map | None]:
    """The maps of the commands that are written for a placement, by tool, without those that say that the tool can't
    express it. Intel MPI and MVAPICH2, whose mappers nobody can ask, follow MPICH's rules here."""
    prediction = mapper.predict(placement, machine, limit(60))
    maps: dict[str, Map | None] = {}
    for tool, text in command_lines.commands(placement, machine, prediction).items():
        if re.search("^#.*(no words|would be)", text, re.M):
            continue
        read = reader.parse(text, None, machine)
        assert read.unknown == (), tool
        hydra = tool == "mpirun_rsh" or read.placement.mpi == "intelmpi"
        maps[tool] = placed(read.placement.model_copy(update={"mpi": "mpich"}) if hydra else read.placement, machine)
    return maps


@st.composite
def predictable(draw: st.DrawFn) -> Placement:
    by, each = draw(
        st.tuples(st.sampled_from(["auto", "slot", "core", "package", "node", "numa", "hwthread"]), st.none())
        | st.tuples(st.sampled_from(["package", "node"]), st.integers(1, 2))
    )
    hosts = draw(st.sampled_from([(), hosts_from("a:2,b:2"), hosts_from("a,b,c"), hosts_from("a:3,b:1")]))
    shared = draw(st.booleans())
    return Placement(
        mpi=draw(st.sampled_from(["openmpi", "openmpi", "mpich"])),
        ranks=draw(st.integers(1, 6 if shared or not hosts else sum(host.slots for host in hosts))),
        hosts=hosts,
        map_by=by,
        per_resource=each,
        cores_per_rank=draw(st.sampled_from([1, 1, 2])),
        bind_to=draw(st.sampled_from(["auto", "auto", "none", "core", "package", "numa", "hwthread"])),
        oversubscribe=shared,
    )


@pytest.mark.parametrize(
    ("options", "tools"),
    [
        (
            "-H hostA,hostB,hostC -np 6 --map-by ppr:1:socket:pe=2 --oversubscribe --report-bindings",
            {"openmpi", "mpich", "intelmpi", "horovodrun", "sbatch"},
        ),
        ("-H a,b -n 4 --oversubscribe", {"openmpi", "mpich", "intelmpi", "mpirun_rsh", "horovodrun", "sbatch"}),
        ("-H a:2,b:2 -n 3", {"openmpi", "mpich", "intelmpi", "mpirun_rsh", "horovodrun", "sbatch"}),
        ("-H a:4,b:4 -n 2", {"openmpi", "mpich", "intelmpi", "mpirun_rsh", "horovodrun", "sbatch"}),
        ("-H a:2,b:2 -n 4 --map-by slot --bind-to package", {"openmpi", "horovodrun", "sbatch"}),
    ],
)
def test_lines_for_other_launchers_have_the_same_map(mpich: None, options: str, tools: set[str]) -> None:
    machine = machines.read("2x4x2")
    placement = reader.parse(f"mpirun {options} python train.py", None, machine).placement
    maps = read_back(placement, machine)
    assert maps == dict.fromkeys(tools, placed(placement, machine))


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(placement=predictable(), shape=st.sampled_from(["2x4x2", "2x4", "2x4,numa=2"]))
def test_every_line_that_is_written_is_read_back_with_the_same_map(
    mpich: None, placement: Placement, shape: str
) -> None:
    machine = machines.read(shape)
    expected = placed(placement, machine)
    if expected is not None:
        maps = read_back(placement, machine)
        assert maps == dict.fromkeys(maps, expected)
        assert placement.mpi in maps


@pytest.mark.parametrize(
    ("command", "deciding"),
    [
        ("mpirun -n 2 -bind-to user:0-3,4-7 t", "-bind-to user:0-3,4-7 decides"),
        ("srun -n 2 --cpu-bind=mask_cpu:0x1,0x2 t", "--cpu-bind=mask_cpu:0x1,0x2 decides"),
        ("mpirun -n 2 --rankfile f t", "--rankfile f decides"),
    ],
)
def test_no_map_is_drawn_where_something_else_decides(command: str, deciding: str) -> None:
    machine = machines.read("2x8")
    read = reader.parse(command, None, machine)
    found = mapper.predict(read.placement, machine, unknown=read.unknown)
    assert found.rank_map is None and deciding in (found.note or "") and not found.decided


def test_more_threads_than_a_ranks_cores_are_warned_of() -> None:
    machine = machines.read("1x4")
    for threads, warned in ((24, "24 threads on 4 cores"), (4, None)):
        read = reader.parse(f"mpirun -n 1 --map-by slot:pe=4 -x OMP_NUM_THREADS={threads} t", None, machine)
        warning = mapper.predict(read.placement, machine).warning
        assert warned in warning if warned and warning else warning is warned
    line = "mpirun -n 2 -genv I_MPI_PIN_DOMAIN socket -genv OMP_NUM_THREADS 24 t"
    pinned = reader.parse(line, None, machines.read("2x22"))
    assert "24 threads on 22 cores" in (mapper.predict(pinned.placement, machines.read("2x22")).warning or "")
