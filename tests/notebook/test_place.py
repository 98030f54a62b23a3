"""Where ranks would run, asked from a notebook."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import workshop
from workshop.core.errors import BadInput
from workshop.core.placement import Placement


def cores(placed: Any) -> list[tuple[str, list[int]]]:
    return [(one["host"], one["cores"]) for one in placed.ranks]


@pytest.mark.real
def test_the_workshops_example() -> None:
    placed = workshop.place(machine="2x4", hosts=3, ranks=6, map_by="package", per_resource=1, cores_per_rank=2)
    assert cores(placed)[:4] == [("hostA", [0, 1]), ("hostA", [4, 5]), ("hostB", [0, 1]), ("hostB", [4, 5])]
    assert placed.refused is None
    assert placed.table["host"].tolist() == ["hostA", "hostA", "hostB", "hostB", "hostC", "hostC"]
    assert "[./././.][B/B/./.]" in repr(placed)
    assert "--map-by ppr:1:package:pe=2" in placed.commands["openmpi"]
    assert set(placed.commands) >= {"openmpi", "mpich", "intelmpi", "horovodrun", "sbatch"}
    assert placed.figure.layout.shapes


@pytest.mark.real
def test_neighbours_on_different_hosts() -> None:
    placed = workshop.place(machine="2x4", hosts=3, ranks=6, map_by="node", cores_per_rank=2)
    assert [host for host, _ in cores(placed)] == ["hostA", "hostB", "hostC"] * 2


@pytest.mark.real
def test_a_refusal_is_the_mpis_own_words_with_advice_for_a_notebook() -> None:
    placed = workshop.place(machine="2x4", hosts=3, ranks=6, map_by="ppr:1:socket", cores_per_rank=5)
    assert placed.ranks == []
    assert "ppr" in (placed.refused or "")
    assert "(cores_per_rank=4)" in (placed.advice or "")
    assert "Open MPI refuses this placement: " in repr(placed)
    assert "What to change: " in repr(placed)
    assert not re.search(r"\(--", repr(placed))
    with pytest.raises(BadInput, match="ppr"):
        _ = placed.figure


@pytest.mark.real
def test_hosts_in_all_ways_and_machines_from_files(tmp_path: Path) -> None:
    ways = (
        "hostA:2,hostB:2",
        ["hostA:2", "hostB:2"],
        [{"name": "hostA", "slots": 2}, {"name": "hostB", "slots": 2}],
        2,
    )
    found = {tuple(host for host, _ in cores(workshop.place(machine="1x4", hosts=way, ranks=4))) for way in ways}
    assert found == {("hostA", "hostA", "hostB", "hostB")}
    assert len(workshop.place(machine="1x4", hosts="hostA:3").ranks) == 3
    with pytest.raises(BadInput, match="can't be read"):
        workshop.place(machine=str(tmp_path / "none.xml"))


@pytest.mark.real
def test_this_machine_and_what_it_gets_by_itself() -> None:
    assert workshop.place(machine="this", ranks=1, map_by="core", bind_to="core").ranks[0]["cores"]
    assert workshop.place(machine="2x4").placement.ranks == 4
    fields = Placement(ranks=2, threads=4, map_by="package", cores_per_rank=4, bind_to="core").as_json()
    assert [mine for _, mine in cores(workshop.place(machine="2x4", **fields))] == [[0, 1, 2, 3], [4, 5, 6, 7]]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"rank": 2}, "rank is not a field of a placement; did you mean ranks?"),
        ({"ranks": "many"}, "ranks is 'many': it should be a whole number"),
        ({"hosts": 0}, "hosts is 0: it should be a number from 1 to 256"),
        ({"hosts": 2.5}, "hosts is 2.5: it should be like"),
        ({"hosts": 2, "ranks": "many"}, "ranks is 'many'"),
        ({"machine": "many"}, "many"),
    ],
)
def test_what_can_t_be_is_one_sentence(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=re.escape(said)) as raised:
        workshop.place(**fields)
    assert "\n" not in str(raised.value)


def test_a_variable_that_decides_leaves_no_map_and_no_command() -> None:
    placed = workshop.place(machine="2x4", ranks=2, environment={"MV2_CPU_BINDING_POLICY": "scatter"})
    assert placed.ranks == []
    assert placed.commands == {}
    assert "MV2_CPU_BINDING_POLICY=scatter decides where ranks run" in repr(placed)
