"""Where ranks would run, asked from a notebook."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import workshop
from workshop.core.errors import BadInput


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


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"rank": 2}, "rank is not a field of a placement; did you mean ranks?"),
        ({"hosts": 0}, "hosts is 0: it should be a number from 1 to 256"),
        ({"machine": "many"}, "many"),
    ],
)
def test_what_can_t_be_is_one_sentence(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=re.escape(said)) as raised:
        workshop.place(**fields)
    assert "\n" not in str(raised.value)
