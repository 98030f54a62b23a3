"""Predictions: what the real mappers say of invented machines, and of this one, where ranks then really run."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import mpis
from tests.core.test_machines import renumbered, shapes
from tests.lstopo import written
from tests.support import limit, need
from workshop.core import machines, topology
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.machines import MachineDescription
from workshop.core.placement import Placement, hosts_from
from workshop.mpi import advice, mapper, openmpi, reports, rules
from workshop.mpi.reports import openmpi_bindings

pytestmark = pytest.mark.real
HOSTS = hosts_from("hostA:2,hostB:2,hostC:2")
EXAMPLE = Placement(ranks=6, hosts=HOSTS, map_by="package", per_resource=1, cores_per_rank=2)
CORES = topology.allowed_cores(topology.machine())
ASKING = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])

MAPPINGS = st.one_of(
    st.tuples(st.sampled_from(["auto", "slot"]), st.none()),
    st.tuples(
        st.sampled_from(["hwthread", "core", "l3cache", "numa", "package", "node"]), st.none() | st.integers(1, 3)
    ),
)


@st.composite
def placements(draw: st.DrawFn, hosts: bool = True) -> Placement:
    """Placements that make sense, and some that don't."""
    by, each = draw(MAPPINGS)
    slots = draw(st.lists(st.integers(1, 4), max_size=3)) if hosts else []
    named = [{"name": name, "slots": number} for name, number in zip(("hostA", "hostB", "hostC"), slots, strict=False)]
    return Placement(
        ranks=draw(st.integers(1, min(sum(slots), 8) if slots else 8)),
        hosts=named,
        map_by=by,
        per_resource=each,
        cores_per_rank=draw(st.sampled_from([1, 1, 1, 2, 3])),
        bind_to=draw(st.sampled_from(["auto", "auto", "none", "hwthread", "core", "l3cache", "numa", "package"])),
        oversubscribe=draw(st.sampled_from([False, False, True])),
    )


def ranks(prediction: mapper.Prediction) -> list[dict[str, Any]]:
    assert prediction.refused is None, prediction.refused
    assert prediction.rank_map is not None and prediction.rank_map["measured"] is False
    return prediction.rank_map["ranks"]


def test_the_workshops_two_socket_example() -> None:
    found = mapper.predict(EXAMPLE, machines.read("2x4x2"))
    assert [(one["rank"], one["host"], one["local_rank"]) for one in ranks(found)] == [
        (rank, f"host{'ABC'[rank // 2]}", rank % 2) for rank in range(6)
    ]
    assert [one["cores"] for one in ranks(found)] == [[0, 1], [4, 5]] * 3
    assert [one["packages"] for one in ranks(found)] == [[0], [1]] * 3
    assert [one["numa"] for one in ranks(found)] == [[0], [1]] * 3
    assert [one["units"] for one in ranks(found)] == [[0, 1, 2, 3], [8, 9, 10, 11]] * 3
    assert [openmpi_bindings.mask(one, found.machine or {}) for one in ranks(found)] == [
        "[BB/BB/../..][../../../..]",
        "[../../../..][BB/BB/../..]",
    ] * 3
    assert list(topology.machines(found.machine)) == ["hostA", "hostB", "hostC"]


def test_hosts_are_called_as_they_were_given() -> None:
    names = ["localhost", "node1.a.org", "node1.b.org", "10.0.0.1"]
    hosts = hosts_from(",".join(names))
    found = mapper.predict(Placement(ranks=4, hosts=hosts), machines.read("1x2"))
    assert [(one["host"], one["cores"]) for one in ranks(found)] == [(name, [0]) for name in names]


def test_mapping_by_node_takes_turns() -> None:
    found = mapper.predict(Placement(ranks=6, hosts=HOSTS, map_by="node"), machines.read("2x4"))
    assert [one["host"] for one in ranks(found)] == ["hostA", "hostB", "hostC"] * 2
    assert [one["cores"] for one in ranks(found)] == [[0]] * 3 + [[1]] * 3
    assert [one["local_rank"] for one in ranks(found)] == [0] * 3 + [1] * 3


def test_a_file_of_lstopo_is_as_good_as_numbers() -> None:
    invented = machines.read("2x4x2,numa=2,l3=4")
    for placement in (EXAMPLE, Placement(ranks=5, bind_to="hwthread"), Placement(ranks=4, map_by="numa")):
        expected = mapper.predict(placement, invented)
        read = mapper.predict(placement, machines.read(written(invented.machine)))
        assert read.rank_map == expected.rank_map
        # Linux numbers the second hardware threads of all cores behind all first ones.
        linux = mapper.predict(placement, machines.read(written(invented.machine, interleaved=True)))
        for one, other in zip(ranks(linux), ranks(expected), strict=True):
            assert one["cores"] == other["cores"] and one["numa"] == other["numa"]
            assert one["units"] == sorted(unit // 2 + 8 * (unit % 2) for unit in other["units"])


@pytest.mark.parametrize("threads", [1, 2])
def test_packages_without_allowed_cores_are_counted(threads: int) -> None:
    """Open MPI counts all packages of the file, but only the cores that are allowed."""
    allowed = "0x000000f0" if threads == 1 else "0x0000ff00"
    text = re.sub(
        'allowed_cpuset="[^"]*"', f'allowed_cpuset="{allowed}"', written(machines.read(f"2x4x{threads}").machine)
    )
    described = machines.read(text)
    assert (described.count("package"), described.cores) == (1, 4)
    for placement in (
        Placement(ranks=2),
        Placement(ranks=2, bind_to="package"),
        Placement(ranks=2, bind_to="hwthread"),
    ):
        for one in ranks(mapper.predict(placement, described)):
            assert one["packages"] == [1] and min(one["units"]) >= 4 * threads
    assert ranks(mapper.predict(Placement(ranks=2), described))[1]["cores"] == [1]


def test_a_map_that_names_no_place_is_no_fault_of_the_file() -> None:
    text = re.sub(
        '(?s)<object type="Package".*?>(.*)</object>(?=\n</object>)', r"\1", written(machines.read("1x4").machine)
    )
    described = machines.read(text)
    assert 'type="Package"' not in text and described.cores == 4
    found = mapper.predict(Placement(ranks=2), described)
    assert found.refused is None and found.rank_map is None and "prints no place" in (found.note or "")
    unbound = mapper.predict(Placement(ranks=2, bind_to="none"), described)
    assert [one["units"] for one in ranks(unbound)] == [[0, 1, 2, 3]] * 2


def test_a_topology_that_hwloc_refuses_is_bad_input() -> None:
    described = machines.read(written(machines.read("1x2").machine))
    broken = MachineDescription(
        "broken", described.machine, xml=(described.xml or "").replace("topology version", "nothing v")
    )
    with pytest.raises(BadInput, match="hwloc"):
        mapper.predict(Placement(), broken)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_a_file_that_contradicts_itself_is_bad_input(data: st.DataObject) -> None:
    text = written(machines.read("2x2x2,numa=2,l3=2").machine)
    places = [found.span(2) for found in re.finditer(r'(\w+)="(0x\w+|\d+|[A-Z]\w+)"', text)]
    for start, end in sorted(data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=4)), reverse=True):
        text = (
            text[:start] + data.draw(st.sampled_from(["0", "7", "0x0", "0x000000ff", "PU", "Core", "-1"])) + text[end:]
        )
    with suppress(BadInput):
        mapper.predict(Placement(ranks=2), machines.read(text))


def test_surroundings_of_a_batch_job_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = mapper.predict(EXAMPLE, machines.read("2x4x2"))
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "elsewhere")
    monkeypatch.setenv("HWLOC_XMLFILE", "/nowhere")
    monkeypatch.setenv("PRTE_MCA_rmaps_default_mapping_policy", "node")
    assert mapper.predict(EXAMPLE, machines.read("2x4x2")) == expected


@pytest.mark.parametrize(
    ("values", "words", "better"),
    [
        ({"map_by": "package", "per_resource": 1, "cores_per_rank": 5, "ranks": 2}, "ppr", "--cores-per-rank 4"),
        ({"ranks": 3, "map_by": "package", "per_resource": 2}, "a multiple of 2", "--ranks 4"),
        ({"ranks": 20, "bind_to": "core"}, "failed to map", "--ranks 8"),
        ({"ranks": 1, "cores_per_rank": 7}, "more than one", "--cores-per-rank 4"),
        ({"ranks": 2, "bind_to": "package", "cores_per_rank": 2}, "cannot be combined", "--bind-to core"),
    ],
)
def test_a_refused_placement_gets_advice(values: dict[str, Any], words: str, better: str) -> None:
    found = mapper.predict(Placement(**values), machines.read("2x4x2"))
    assert found.rank_map is None
    assert words in (found.refused or "")
    assert better in (found.advice or "")
    assert 1 <= len(found.changes) <= advice.MOST_CHANGES


def test_slots_are_advised_where_they_are_what_is_missing() -> None:
    hosts = hosts_from("hostA:1,hostB:4")
    found = mapper.predict(Placement(ranks=4, hosts=hosts, map_by="package", per_resource=1), machines.read("2x4"))
    assert found.refused is not None
    assert "--hosts hostA:2,hostB:4" in (found.advice or "")
    assert "hostA" in (found.advice or "") and "240." not in (found.refused + (found.advice or ""))


@ASKING
@given(placements(), shapes())
def test_what_is_advised_is_taken(placement: Placement, described: MachineDescription) -> None:
    found = mapper.predict(placement, described)
    for change in found.changes:
        assert mapper.predict(change.placement, described).refused is None
        assert change.placement != placement
    if found.refused:
        assert found.changes, f"no advice for {placement}: {found.refused}"


@ASKING
@given(renumbered(), st.data())
def test_numbers_of_the_operating_system_are_not_taken_for_logical_ones(
    described: MachineDescription, data: st.DataObject
) -> None:
    """Without hardware threads, Open MPI calls the operating system's numbers of units logical numbers of cores."""
    kind, key = data.draw(st.sampled_from([("core", "core"), ("package", "package"), ("l3cache", "l3")]))
    there = described.count(key)
    placement = Placement(ranks=data.draw(st.integers(1, there)), map_by=kind, bind_to=kind)
    found = ranks(mapper.predict(placement, described))
    assert [one["units"] for one in found] == [
        [row["unit"] for row in described.units if row[key] == number] for number in range(placement.ranks)
    ]
    by_threads = ranks(mapper.predict(Placement(ranks=there, map_by="hwthread", bind_to="hwthread"), described))
    logical = sorted(described.units, key=lambda row: (row["package"], row["core"], row["unit"]))
    assert [one["units"] for one in by_threads] == [[row["unit"]] for row in logical[:there]]


@ASKING
@given(placements(), shapes() | renumbered())
def test_predicted_ranks_lie_in_the_machine(placement: Placement, described: MachineDescription) -> None:
    found = mapper.predict(placement, described)
    if found.refused:
        return
    rows = {row["unit"]: row for row in described.units}
    assert [one["rank"] for one in ranks(found)] == list(range(placement.ranks))
    taken: Counter[tuple[str, int]] = Counter()
    for one in ranks(found):
        assert one["units"] and set(one["units"]) <= set(rows)
        for key, name in (("cores", "core"), ("packages", "package"), ("numa", "numa")):
            assert one[key] == sorted({rows[unit][name] for unit in one["units"]})
        taken.update((one["host"], unit) for unit in one["units"])
    arguments = openmpi.arguments(placement, described.cores)
    binding = arguments[arguments.index("--bind-to") + 1]
    if binding in ("core", "hwthread"):
        assert max(taken.values()) == 1, "bound ranks share units although nobody allowed it"
        if binding == "core":
            assert {len(one["cores"]) for one in ranks(found)} == {placement.cores_per_rank}
        else:
            assert {len(one["units"]) for one in ranks(found)} == {placement.cores_per_rank}
    elif binding == "none":
        assert all(one["units"] == sorted(rows) for one in ranks(found))
    slots = {host.name: host.slots for host in placement.hosts}
    if slots and not placement.oversubscribe:
        assert all(number <= slots[host] for host, number in Counter(one["host"] for one in ranks(found)).items())


RUNNABLE = [
    {"ranks": 2},
    {"ranks": 2, "map_by": "core", "bind_to": "core"},
    {"ranks": 2, "map_by": "slot", "bind_to": "none"},
    {"ranks": 2, "map_by": "core", "bind_to": "hwthread"},
    {"ranks": 1, "cores_per_rank": 2},
    {"ranks": 2, "map_by": "package", "bind_to": "package"},
    {"ranks": 2, "map_by": "package", "per_resource": 2},
    {"ranks": 4},
    {"ranks": 4, "map_by": "core", "bind_to": "core", "oversubscribe": True},
]


@pytest.mark.parametrize("values", RUNNABLE, ids=lambda values: "-".join(map(str, values.values())))
def test_ranks_run_where_they_were_predicted(values: dict[str, Any]) -> None:
    need(CORES == 2, "these placements are for a machine with two cores")
    placement = Placement(**values)
    found = mapper.predict(placement, machines.this())
    report = "echo $OMPI_COMM_WORLD_RANK $(grep Cpus_allowed_list /proc/self/status)"
    command = [openmpi.launcher(), "-n", str(placement.ranks), *openmpi.arguments(placement, CORES)]
    ran = subprocess.run(
        [*command, "--report-bindings", "sh", "-c", report],
        env=os.environ | openmpi.environment(),
        capture_output=True,
        text=True,
        timeout=limit(60),
    )
    assert ran.returncode == 0, ran.stderr
    measured = {int(words[0]): topology.parse_cpu_list(words[2]) for words in map(str.split, ran.stdout.splitlines())}
    assert {one["rank"]: one["units"] for one in ranks(found)} == measured
    assert {one["host"] for one in ranks(found)} == {topology.machine()["host"]}
    said = reports.read(ran.stderr, found.machine).rank_map["ranks"]
    assert [(one["host"], one["units"]) for one in said] == [(one["host"], one["units"]) for one in ranks(found)]


def test_intel_mpi_s_rules_tell_the_hosts_where_there_is_no_map() -> None:
    placement = EXAMPLE.model_copy(update={"mpi": "intelmpi"})
    drawn = mapper.predict(placement, machines.read("2x4x2"))
    assert [(one["host"], one["cores"]) for one in ranks(drawn)][:2] == [("hostA", [0, 1]), ("hostA", [4, 5])]
    cached = placement.model_copy(update={"environment": {"I_MPI_PIN_DOMAIN": "cache"}})
    found = mapper.predict(cached, machines.read("2x4x2"))
    assert found.rank_map is None and found.refused is None and found.machine is not None
    assert "By the documented rules: ranks 0 and 1 on hostA" in (found.note or "")


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(1, 20), st.none() | st.integers(1, 3))
def test_hydra_deals_out_every_rank_once(slots: list[int], count: int, each: int | None) -> None:
    hosts = [{"name": f"host{number}", "slots": slot} for number, slot in enumerate(slots)]
    by = {"map_by": "node", "per_resource": each} if each else {}
    dealt = rules.dealt_out(Placement(ranks=count, hosts=hosts, oversubscribe=True, mpi="mpich", **by))
    assert sorted(rank for mine in dealt for rank in mine) == list(range(count))
    assert dealt[0][:1] == [0]


def test_mpich_says_where_it_would_put_ranks(workshop_home: Path) -> None:
    mpis.use(workshop_home, "mpich")
    described = machines.read("2x4x2")
    found = mapper.predict(EXAMPLE.model_copy(update={"mpi": "mpich"}), described)
    assert [(one["host"], one["cores"]) for one in ranks(found)] == [
        (f"host{'ABC'[rank // 2]}", [[0, 1], [4, 5]][rank % 2]) for rank in range(6)
    ]
    unbound = mapper.predict(Placement(mpi="mpich", ranks=2, bind_to="none"), described)
    assert [one["units"] for one in ranks(unbound)] == [list(range(16))] * 2
    this = mapper.predict(Placement(mpi="mpich", ranks=1, bind_to="core"), machines.this())
    assert len(ranks(this)[0]["cores"]) == 1


@pytest.mark.parametrize("name", ["mpich", "intelmpi"])
def test_what_the_others_have_no_words_for_is_refused(name: str) -> None:
    found = mapper.predict(Placement(mpi=name, ranks=4, map_by="package", per_resource=2), machines.read("2x4"))
    assert found.rank_map is None and "no words for 2 ranks per package" in (found.refused or "")
    assert not found.own_words


@pytest.mark.real
def test_a_mapper_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(WorkshopError, match=r"not answered within 0\.5 s; ask about fewer ranks"):
        mapper.predict(Placement(ranks=1024), machines.read("8x128x2"), 0.5)
