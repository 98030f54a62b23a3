"""`workshop place` as a user meets it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.lstopo import written
from tests.support import limit
from workshop.core import machines, topology

WORKSHOP = str(Path(sys.prefix) / "bin" / "workshop")


def place(*words: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"COLUMNS": "80", "NO_COLOR": "1"}
    return subprocess.run(
        [WORKSHOP, "place", *words], input=given, capture_output=True, text=True, timeout=limit(60), env=environment
    )


def answer(*words: str, code: int = 0, given: str | None = None) -> dict[str, Any]:
    ended = place(*words, "--json", given=given)
    assert ended.returncode == code, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.real
def test_without_a_word_it_is_the_workshops_example() -> None:
    told = answer()
    assert told["machine"] == "2x4x2"
    assert told["refused"] is None and told["advice"] is None and told["note"] is None
    assert [(one["rank"], one["host"], one["packages"], one["cores"]) for one in told["predicted"]] == [
        (rank, f"host{'ABC'[rank // 2]}", [rank % 2], [[0, 1], [4, 5]][rank % 2]) for rank in range(6)
    ]
    assert told["predicted"][1]["units"] == [8, 9, 10, 11]
    assert told["masks"][:2] == ["[BB/BB/../..][../../../..]", "[../../../..][BB/BB/../..]"]
    assert list(told["commands"]) == ["openmpi", "mpich", "intelmpi", "mpirun_rsh", "horovodrun", "sbatch"]
    assert told["placement"]["hosts"] == [{"name": f"host{name}", "slots": 2} for name in "ABC"]


@pytest.mark.real
def test_every_way_of_asking_for_the_example(tmp_path: Path) -> None:
    expected = answer()["predicted"]
    xml = tmp_path / "machine.xml"
    xml.write_text(written(machines.read("2x4x2").machine))
    hosts = tmp_path / "hosts"
    hosts.write_text("# ours\nhostA slots=2\nhostB slots=2\nhostC slots=2\n")
    line = "mpirun -H hostA:2,hostB:2,hostC:2 -np 6 --map-by ppr:1:socket:pe=2 python train.py"
    slides = "mpirun -H hostA,hostB,hostC -np 6 --map-by ppr:1:socket:pe=2 --oversubscribe --report-bindings python x"
    fields = ["--map-by", "package", "--per-resource", "1", "--cores-per-rank", "2"]
    for words in (
        ["--machine", "2x4x2", "--hosts", "hostA:2,hostB:2,hostC:2", *fields],
        ["--machine", "2x4x2", "--hosts", str(hosts), "--ranks", "6", "--map-by", "ppr:1:socket:pe=2"],
        ["--machine", str(xml), "--command", line],
        ["--machine", "2x4x2", "--command", slides],
    ):
        assert answer(*words)["predicted"] == expected, words
    told = answer("--machine", "2x4x2", "--command", "-", given=line.replace("-np 6", "--bogus -np 6"))
    assert told["predicted"] == expected and told["unknown"] == ["--bogus"]
    unbound = answer("--machine", "2x4x2", "--mpi", "mpich", "--command", "mpiexec -n 2 x")["placement"]
    assert (unbound["mpi"], unbound["bind_to"]) == ("mpich", "none"), "as MPICH does where nobody asks"


def narrow(text: str) -> bool:
    """Whether all but commands and their comments fits 80 columns."""
    return all(len(line) <= 80 or line.endswith("python train.py") or line[:2] == "# " for line in text.splitlines())


@pytest.mark.real
def test_it_looks_good_in_80_columns() -> None:
    shown = place()
    assert shown.returncode == 0
    assert narrow(shown.stdout)
    rows = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert "1 hostA 1 4-5 8-11 [../../../..][BB/BB/../..]" in rows
    for title in ("Open MPI", "MPICH", "Intel MPI", "Horovod", "Slurm"):
        assert f"\n{title}" in shown.stdout
    large = place("--machine", "4x32x2", "--ranks", "100")
    assert narrow(large.stdout)
    assert "and 36 more ranks" in large.stdout


@pytest.mark.real
def test_a_refusal_is_the_mpis_own_and_ends_with_1() -> None:
    words = ("--machine", "2x4", "--ranks", "2", "--map-by", "package", "--per-resource", "1", "--cores-per-rank", "5")
    told = answer(*words, code=1)
    assert told["predicted"] == [] and "PPR: 1:package" in told["refused"]
    assert "--cores-per-rank 4" in told["advice"]
    shown = place(*words)
    assert shown.returncode == 1
    assert "in the MPI's own words" in shown.stdout and "What to change: Try 4 cores" in shown.stdout
    assert narrow(shown.stdout)


@pytest.mark.real
def test_a_machine_alone_gets_its_default() -> None:
    told = answer("--machine", "2x4")
    assert (told["placement"]["ranks"], told["placement"]["cores_per_rank"]) == (4, 2)
    assert [one["cores"] for one in told["predicted"]] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    here = answer("--ranks", "1")
    assert here["machine"] == "this machine"
    assert here["predicted"][0]["host"] == topology.machine()["host"]


@pytest.mark.real
def test_what_decides_the_binding_elsewhere_and_too_many_threads_are_said() -> None:
    told = answer("--machine", "2x8", "--command", "mpirun -n 2 --rankfile f t")
    assert told["predicted"] == [] and told["commands"] == {}
    assert "--rankfile f decides where ranks run" in told["note"]
    told = answer("--machine", "2x8", "--command", "mpirun -n 2 -env MV2_CPU_MAPPING=0:8 t")
    assert [one["units"] for one in told["predicted"]] == [[0], [8]] and told["commands"] == {}
    told = answer("--machine", "1x4", "--command", "mpirun -n 1 --map-by slot:pe=4 -x OMP_NUM_THREADS=24 t")
    assert "24 threads on 4 cores" in told["warning"]


@pytest.mark.real
def test_intel_mpi_has_rules() -> None:
    told = answer("--machine", "2x4", "--mpi", "impi", "--ranks", "2")
    assert [one["cores"] for one in told["predicted"]] == [[0], [1]] and told["refused"] is None
    assert "By Intel MPI's documented rules, not asked of the MPI." in told["note"]


@pytest.mark.real
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--machine", "banana"], "is not a machine"),
        (["--machine", "2x4,l2=1"], "no part of a machine"),
        (["--machine", "{text}"], "'not a machine' is not a machine"),
        (["--machine", "{binary}"], "give what lstopo writes"),
        (["--machine", "missing.xml"], "can't be read"),
        (["--ranks", "0"], "ranks is 0"),
        (["--hosts", "a:0"], "host a has '0' slots"),
        (["--hosts", "a:2,b:x"], "host b has 'x' slots"),
        (["--hosts", "{hosts}"], "line 2 of the hosts"),
        (["--hosts", "/nowhere/hosts"], "no file /nowhere/hosts"),
        (["--hosts", "a:1", "--ranks", "2"], "the hosts have 1 slots"),
        (["--map-by", "ppr:1:banana"], "should name a resource"),
        (["--map-by", "banana"], "map_by is 'banana'"),
        (["--mpi", "lam"], "mpi is 'lam'"),
        (["--command", "ls"], "begins with 'ls'"),
        (["--failure", "bogus"], "no failure 'bogus'"),
        (["--failure", "polling", "--ranks", "3", "--command", "mpirun x"], "--machine and --hosts alone"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, words: list[str], sentence: str) -> None:
    files = {name: tmp_path / name for name in ("text", "binary", "hosts")}
    files["text"].write_text("not a machine")
    files["text"] = files["text"].rename(tmp_path / "text.xml")
    files["binary"].write_bytes(b"\xff\xfe\x00")
    files["hosts"].write_text("a slots=2\nb slots=many\n")
    ended = place(*(word.format(**files) for word in words))
    assert ended.returncode == 2, ended.stderr
    assert sentence in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
    assert ended.stdout == ""


@pytest.mark.real
def test_failures_are_shown_with_their_fix() -> None:
    listed = place("--failure", "list")
    assert listed.returncode == 0
    assert max(map(len, listed.stdout.splitlines())) <= 80
    names = [one["name"] for one in answer("--failure", "list")]
    assert names[:2] == ["shared-core", "too-many-threads"] and len(names) == 6
    shown = place("--failure", "shared-core", "--machine", "1x2")
    assert shown.returncode == 0
    assert "What mends it" in shown.stdout and "workshop run kmeans" in shown.stdout
    told = answer("--failure", "shared-core", "--machine", "1x2")
    assert [one["cores"] for one in told["broken_map"]["predicted"]] == [[0], [0], [1]]
    assert [one["cores"] for one in told["fixed_map"]["predicted"]] == [[0], [1]]
    assert told["runs"]["broken"].startswith("workshop run kmeans --data blobs")


@pytest.mark.real
def test_it_costs_the_help_nothing() -> None:
    imported = subprocess.run(
        [sys.executable, "-c", "import sys, workshop.cli.main; print(' '.join(sys.modules))"],
        capture_output=True,
        text=True,
    ).stdout.split()
    assert not {
        "workshop.mpi.mapper",
        "workshop.core.machines",
        "workshop.report.failures",
        "xml.etree.ElementTree",
    } & set(imported)
