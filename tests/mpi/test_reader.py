"""Command lines that people type, back to placements."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from workshop.core import machines
from workshop.core.errors import BadInput
from workshop.core.placement import Placement, hosts_from
from workshop.mpi import command_lines, reader
from workshop.mpi.reader.lines import read_lines
from workshop.mpi.reader.options import read_options

MACHINE = machines.read("2x4x2")
LARGE = machines.read("8x16x2")
ONE_THREAD = machines.read("2x8")
HOSTS = hosts_from("hostA:2,hostB:2,hostC:2")
ONE_EACH = hosts_from("hostA,hostB,hostC")
VALUES = st.text("abcXYZ 0123456789,;:=/.$'\"\\#~*!%()[]{}<>|&-_", max_size=12)
VARIABLES = st.dictionaries(
    st.sampled_from(["KMP_BLOCKTIME", "OMP_PLACES", "NCCL_DEBUG", "A", "OMP_NUM_THREADS", "MKL_NUM_THREADS"])
    | st.from_regex(r"[A-Z][A-Z_]{0,6}", fullmatch=True),
    VALUES | st.sampled_from(["1", "2", "4"]),
    max_size=3,
)


@st.composite
def placements(draw: st.DrawFn) -> Placement:
    by, each = draw(
        st.one_of(
            st.tuples(st.sampled_from(["auto", "slot"]), st.none()),
            st.tuples(
                st.sampled_from(["hwthread", "core", "l3cache", "numa", "package", "node"]),
                st.none() | st.integers(1, 4),
            ),
        )
    )
    slots = draw(st.lists(st.integers(1, 4), max_size=3) | st.integers(1, 3).map(lambda n: [2] * n))
    oversubscribe = draw(st.booleans())
    return Placement(
        mpi=draw(st.sampled_from(["openmpi", "mpich", "intelmpi"])),
        ranks=draw(st.integers(1, sum(slots) if slots and not oversubscribe else 12)),
        hosts=[{"name": f"host{number}", "slots": slot} for number, slot in enumerate(slots)],
        map_by=by,
        per_resource=each,
        cores_per_rank=draw(st.sampled_from([1, 1, 2, 3])),
        bind_to=draw(st.sampled_from(["auto", "none", "hwthread", "core", "l3cache", "numa", "package"])),
        oversubscribe=oversubscribe,
        threads=draw(st.none() | st.sampled_from([1, 2, 8])),
        environment=draw(VARIABLES),
    )


def tools(placement: Placement) -> list[str]:
    """The tools that start ranks with the placement's own MPI and have words for all of it."""
    mine = [placement.mpi, "mpirun_rsh", "sbatch", *(["horovodrun"] if placement.mpi == "openmpi" else [])]
    return [tool for tool in mine if command_lines.words(tool, placement, MACHINE.cores, MACHINE) is not None]


def fits(placement: Placement) -> bool:
    """Whether Open MPI may put so many ranks on each resource: the reader refuses lines that it would refuse."""
    each, by = placement.per_resource, placement.map_by
    if each is None or by not in ("package", "numa", "l3cache", "core") or placement.mpi != "openmpi":
        return True
    shares = placement.bind_to in ("none", "hwthread") or placement.oversubscribe
    return each <= MACHINE.count("core") // MACHINE.count(by) or shares


@settings(max_examples=150, deadline=None)
@given(placements())
def test_what_is_written_is_read_back(placement: Placement) -> None:
    """Several placements are written alike; the one that is read is written as the first was."""
    assume(fits(placement))
    written = command_lines.commands(placement, MACHINE)
    for tool in tools(placement):
        if tool == "sbatch" and len({host.slots for host in placement.hosts}) > 1:
            continue  # which the script says in a remark
        read = reader.parse(written[tool], None, MACHINE)
        assert read.unknown == (), tool
        again = command_lines.words(tool, read.placement, MACHINE.cores, MACHINE)
        assert sorted(again or []) == sorted(command_lines.words(tool, placement, MACHINE.cores, MACHINE) or [])


# Words of command lines, good ones and bad ones.
VOCABULARY = [
    "mpirun",
    "mpirun_rsh",
    "MV2_CPU_BINDING_POLICY=scatter",
    "MV2_THREADS_PER_PROCESS=2",
    "mpiexec",
    "horovodrun",
    "srun",
    "env",
    "python",
    "x.py",
    "-n",
    "-np",
    "-ppn",
    "-N",
    "-H",
    "-host",
    "-hosts",
    "-hostfile",
    "hosts",
    "--map-by",
    "--bind-to",
    "-bind-to",
    "ppr:1:socket:pe=2",
    "ppr:",
    "ppr:x:core",
    ":OVERSUBSCRIBE",
    "core",
    "core:2",
    "none",
    "user:0,1",
    "-genv",
    "-x",
    "A=1",
    "--mca",
    "btl",
    "self",
    "--binding-args=--map-by=core",
    "--bogus",
    "2",
    "0",
    "-1",
    "99999999999999999999",
    "a:2,b:2",
    "a:0",
    ":",
    ";",
    "=",
    "-",
    "--",
    "\\",
    "#SBATCH",
    "--nodes=2",
    "--ntasks=4",
    "-n4",
    "--nodelist=n[1-3]",
    "n[3-1]",
    "I_MPI_PIN_DOMAIN=socket",
    "OMP_NUM_THREADS=2",
    "I_MPI_PIN_DOMAIN",
    "'",
    '"',
    "–np",
    "$",
    "\n",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(VOCABULARY) | st.text(max_size=4), max_size=14).map(" ".join) | st.text(max_size=40))
def test_anything_is_read_or_refused_in_a_sentence(text: str) -> None:
    for base in (None, Placement(ranks=3, hosts=hosts_from("a:2,b:2"))):
        try:
            assert reader.parse(text, base).placement.ranks >= 1
        except BadInput as error:
            assert str(error) and len(str(error)) < 600


@pytest.mark.parametrize(
    ("text", "values", "unknown"),
    [
        ("mpirun -np 4 python x.py -np 7", {"ranks": 4}, ()),
        ("/opt/openmpi/bin/mpirun --np 4 python", {"ranks": 4}, ()),
        ("$ mpirun -n 4 \\\n  --map-by core \\\n python", {"ranks": 4, "map_by": "core"}, ()),
        ("mpirun -n 3 --bind-to socket a", {"ranks": 3, "bind_to": "package"}, ()),
        ("mpirun -n 2 --map-by :OVERSUBSCRIBE a", {"ranks": 2, "oversubscribe": True, "bind_to": "none"}, ()),
        ("mpirun -n 4 -N 2 a", {"ranks": 4, "map_by": "node", "per_resource": 2, "bind_to": "numa"}, ()),
        ("mpirun -n 4 -npernode 2 a", {"ranks": 4, "map_by": "node", "per_resource": 2, "bind_to": "numa"}, ()),
        ("mpirun -n 4 --map-by socket a", {"ranks": 4, "map_by": "package", "bind_to": "package"}, ()),
        ("horovodrun -np 4 python t.py", {"ranks": 4, "bind_to": "none"}, ()),
        (
            "mpirun_rsh -np 4 n1 n1 n2 n2 MV2_CPU_BINDING_POLICY=scatter OMP_NUM_THREADS=1 MV2_SHOW_CPU_BINDING=1 ./t",
            {
                "mpi": "mpich",
                "ranks": 4,
                "hosts": [{"name": "n1", "slots": 2}, {"name": "n2", "slots": 2}],
                "map_by": "package",
                "bind_to": "core",
                "environment": {"MV2_SHOW_CPU_BINDING": "1"},
            },
            (),
        ),
        (
            "mpirun_rsh -rsh -np 4 -hostfile hosts MV2_ENABLE_AFFINITY=0 ./t n1",
            {"mpi": "mpich", "ranks": 4, "bind_to": "none"},
            ("-hostfile hosts",),
        ),
        (
            "mpirun_rsh -np 3 n1 n2 n1 MV2_CPU_BINDING_LEVEL=socket MV2_CPU_BINDING_POLICY=spread ./t",
            {
                "mpi": "mpich",
                "ranks": 3,
                "hosts": [{"name": "n1", "slots": 2}, {"name": "n2", "slots": 1}],
                "map_by": "node",
                "bind_to": "package",
            },
            ("MV2_CPU_BINDING_POLICY=spread",),
        ),
        ("mpiexec -n 4 -prepend-rank a", {"mpi": "mpich", "ranks": 4, "bind_to": "none"}, ()),
        (
            "mpirun -n 4 -prepend-rank a",  # Intel MPI pins ranks to their share of the host
            {"mpi": "intelmpi", "ranks": 4, "environment": {"I_MPI_PIN_DOMAIN": "auto"}},
            (),
        ),
        ("mpirun -n 2 -x A=1 -x B='x y' a", {"ranks": 2, "environment": {"A": "1", "B": "x y"}}, ()),
        ("A=1 mpirun -n 2 -x A a", {"ranks": 2, "environment": {"A": "1"}}, ()),
        ("mpirun -n 2 -x PATH a", {"ranks": 2}, ("PATH, whose value is not told",)),
        ("mpirun -n 2 --hostfile my_hosts a", {"ranks": 2}, ("--hostfile my_hosts",)),
        ("mpirun -n 2 --frobnicate a", {"ranks": 2}, ("--frobnicate",)),
        ("mpirun --frobnicate 3 -n 2 a", {"ranks": 2}, ("--frobnicate 3",)),
        ("mpirun -n 2 --map-by banana a", {"ranks": 2}, ("--map-by banana",)),
        (
            "mpirun -n 2 --map-by numa:SPAN a",
            {"ranks": 2, "map_by": "numa", "bind_to": "numa"},
            (":SPAN of --map-by numa:SPAN",),
        ),
        ("mpirun -n 2 --rank-by slot a", {"ranks": 2}, ("--rank-by slot",)),
        ("mpirun -n 2 a : -n 3 b", {"ranks": 2}, (": -n 3 b",)),
        ("mpirun -n 2 --mca btl self a", {"ranks": 2, "environment": {"OMPI_MCA_btl": "self"}}, ()),
        ("mpirun -n 4 -H a:2,b:2 x", {"ranks": 4, "hosts": hosts_from("a:2,b:2")}, ()),
        ("mpirun -H a:2,b:2 x", {"ranks": 4, "hosts": hosts_from("a:2,b:2")}, ()),
        ("mpirun -H a,a,b -n 3 x", {"ranks": 3, "hosts": hosts_from("a:2,b:1")}, ()),
        ("OMP_NUM_THREADS=4 mpirun -n 2 x", {"ranks": 2, "threads": 4}, ()),
        (
            "mpirun -H hostA,hostB,hostC -np 6 --map-by ppr:1:socket:pe=2 --oversubscribe --report-bindings python",
            {
                "ranks": 6,
                "hosts": ONE_EACH,
                "map_by": "package",
                "per_resource": 1,
                "cores_per_rank": 2,
                "oversubscribe": True,
            },
            (),
        ),
        (
            "mpirun -H hostA, hostB, hostC -n 6 -ppn 2 -print-rank-map -genv I_MPI_PIN_DOMAIN=socket "
            "-genv OMP_NUM_THREADS=24 -genv KMP_BLOCKTIME=1 python t.py",
            {
                "mpi": "intelmpi",
                "ranks": 6,
                "hosts": HOSTS,
                "bind_to": "package",
                "threads": 24,
                "environment": {"I_MPI_PIN_DOMAIN": "socket", "KMP_BLOCKTIME": "1"},
            },
            (),
        ),
        (
            'horovodrun -np 4 -H n1:2,n2:2 --binding-args="--map-by ppr:2:socket:pe=10" '
            '--mpi-args="--report-bindings --bogus" python t.py',
            {
                "ranks": 4,
                "hosts": hosts_from("n1:2,n2:2"),
                "map_by": "package",
                "per_resource": 2,
                "cores_per_rank": 10,
            },
            ("--bogus",),
        ),
        (
            "mpiexec -bind-to core:2 -map-by socket -n 4 ./a.out",
            {"mpi": "mpich", "ranks": 4, "bind_to": "core", "cores_per_rank": 2, "map_by": "package"},
            (),
        ),
        ("mpiexec -bind-to user:0,1 -n 2 x", {"mpi": "mpich", "ranks": 2}, ("-bind-to user:0,1",)),
        (
            "mpiexec –np 4 –hosts pc1,pc2 python t.py",
            {"mpi": "mpich", "ranks": 4, "hosts": hosts_from("pc1,pc2"), "oversubscribe": True, "bind_to": "none"},
            (),
        ),
        (
            "I_MPI_PIN_DOMAIN=core I_MPI_PIN_ORDER=compact mpirun -n 4 x",
            {"mpi": "intelmpi", "ranks": 4, "bind_to": "core"},
            (),
        ),
        (
            "I_MPI_PIN=off mpirun -n 4 x",
            {"mpi": "intelmpi", "ranks": 4, "bind_to": "none", "environment": {"I_MPI_PIN": "off"}},
            (),
        ),
        (
            "#!/bin/bash\n#SBATCH --nodes=2 -n4\n#SBATCH --ntasks-per-node 2\n#SBATCH --nodelist=n[01-02]\n"
            "#SBATCH --partition=short\nmodule load openmpi\nexport OMP_NUM_THREADS=3\n\nmpirun -n 4 --map-by core a",
            {"ranks": 4, "hosts": hosts_from("n01:2,n02:2"), "map_by": "core", "threads": 3},
            ("module load openmpi", "--partition=short"),
        ),
        ("srun --ntasks-per-node=2 ./t", {"ranks": 2}, ()),
        ("srun ./t", {"ranks": 1}, ()),
        ("srun -N 2 ./t", {"ranks": 2, "hosts": hosts_from("node1,node2")}, ()),
        ("srun -N 2 --ntasks-per-node=2 ./t", {"ranks": 4, "hosts": hosts_from("node1:2,node2:2")}, ()),
        (
            "#!/bin/bash\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=4\n#SBATCH --cpus-per-task=2\nsrun ./t",
            {"ranks": 8, "hosts": hosts_from("node1:4,node2:4"), "cores_per_rank": 2},
            (),
        ),
        ("srun -n 4 --cpu-bind=none ./t", {"ranks": 4, "bind_to": "none"}, ()),
        ("srun -n 4 -c 2 --cpu-bind=v,sockets ./t", {"ranks": 4, "bind_to": "package"}, ()),
        ("srun -n 4 --cpu-bind verbose --exclusive --overcommit ./t", {"ranks": 4}, ()),
        ("srun -n 4 --cpu-bind=map_cpu:0,1 ./t", {"ranks": 4}, ("--cpu-bind=map_cpu:0,1",)),
        ("srun -n 4 --hint=memory_bound ./t", {"ranks": 4}, ("--hint=memory_bound",)),
        ("mpirun -n 2 -bind-to user:0-15,16-31 ./t", {"mpi": "mpich", "ranks": 2}, ("-bind-to user:0-15,16-31",)),
        (
            "mpirun -n 2 -env MV2_CPU_MAPPING=0:8 ./t",
            {"mpi": "mpich", "ranks": 2, "environment": {"MV2_CPU_MAPPING": "0:8"}},
            (),
        ),
        (
            "mpirun -n 4 \u200b--map-by package\u00a0\ufeff--bind-to core ./t",
            {"ranks": 4, "map_by": "package", "bind_to": "core"},
            (),
        ),
        (
            "srun --nodes=2 --ntasks=4 -c 2 a",
            {"ranks": 4, "cores_per_rank": 2, "hosts": hosts_from("node1:2,node2:2")},
            (),
        ),
    ],
)
def test_commands_as_people_type_them(text: str, values: dict[str, Any], unknown: tuple[str, ...]) -> None:
    read = reader.parse(text, None, ONE_THREAD if "srun" in text else LARGE)
    assert read.placement == Placement(**values)
    assert read.unknown == unknown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "There is no command"),
        ("# only a remark", "There is no command"),
        ("ls -l", "begins with 'ls -l'"),
        ("mpirun -n", "needs a value"),
        ("mpirun_rsh -np 2 n1 n2 MV2_THREADS_PER_PROCESS=many ./t", "should be a number of cores"),
        ("mpirun -n two a", "-n is 'two'"),
        ("mpirun -n 10000000 a", "-n is '10000000'; it should be a whole number from 1 to 1,048,576."),
        ("mpirun -n 0 a", "-n is '0'"),
        ("mpirun -n 5000 a", "ranks is 5000"),
        ("srun -n 5 -N 2 --ntasks-per-node=2 a", "puts 4 on 2 nodes; it should be --ntasks-per-node=3"),
        ("mpirun -n 2 'a", "quotation mark is not closed"),
        ("mpirun -H a,b,c -n 6 x", "-H a:2,b:2,c:2"),
        ("mpirun -H a:0 -n 1 x", "host a has '0' slots"),
        ("mpirun -H -oProxy=x:1 -n 1 x", "is not a host name"),
        ("mpirun -n 2 --map-by ppr:0:core x", "from 1 to 1024"),
        ("mpirun -n 2 --map-by ppr:1 x", "should name a resource"),
        ("mpirun -n 2 --map-by core:pe=x x", "pe should be a number"),
        ("mpirun -n 2 -x 'A B=1' x", "is not the name of a variable"),
        ("#SBATCH --nodelist=n[1-9999]\nmpirun -n 2 x", "at most 256"),
    ],
)
def test_what_cannot_be_meant_gets_a_sentence(text: str, said: str) -> None:
    with pytest.raises(BadInput) as error:
        reader.parse(text, None, LARGE)
    assert said in str(error.value)


def test_the_number_of_ranks_stays_where_the_mpi_has_none_of_its_own() -> None:
    base = Placement(ranks=6)
    assert reader.parse("mpirun x", base, MACHINE).placement.ranks == 8  # what Open MPI starts without a number
    assert reader.parse("mpiexec -ppn 2 x", base, MACHINE).placement.ranks == 6


def test_more_unbound_ranks_than_slots_are_refused_as_mpirun_would() -> None:
    with pytest.raises(BadInput, match=r"9, but the machine has 8 cores.*--oversubscribe"):
        reader.parse("mpirun -n 9 --bind-to none a", None, MACHINE)
    assert reader.parse("mpirun -n 9 --oversubscribe a", None, MACHINE).placement.bind_to == "auto"


def test_slurm_s_words_name_no_mpi_and_take_their_values() -> None:
    line = read_options(read_lines("srun --export ALL --mpi pmix -N 2 -n 4 -l python a.py"))
    assert (line.ranks, line.openmpi, line.hydra) == (4, 0, 0)
    assert (
        "--export=OMP_NUM_THREADS=2"
        in read_options(read_lines("srun --export=OMP_NUM_THREADS=2 -n 4 python a.py")).unknown
    )
