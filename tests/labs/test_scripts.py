"""The short scripts of the labs, as a learner runs them: right on two ranks and on one, and clear about bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.labs import script
from tests.support import limit
from workshop.core import config
from workshop.core.placement import Placement
from workshop.mpi import openmpi

LABS = config.labs_folder()
PATHS = (
    *("first/pi.py", "kmeans/kmeans.py", "placement/bindings.py", "failures/deadlock.py", "ring/ring.py"),
    *("memory/mlp.py", "pipelines/pipeline.py", "scaling/scaling.py", "faults/hangs.py"),
)
PI, KMEANS, BINDINGS, DEADLOCK, RING, MLP, PIPELINE, SCALING, HANGS = SCRIPTS = tuple(LABS / path for path in PATHS)
TRAINERS = tuple(LABS / lab / "train.py" for lab in ("mnist", "sgan", "federated"))
PUBLIC = {"mpi4py", "numpy", "sklearn", "PIL", "horovod"}
each = pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
WRONG = "chunk[:] = arrived[: len(chunk)]"


@pytest.mark.parametrize("path", SCRIPTS + TRAINERS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_it_needs_public_libraries_only_and_is_short(path: Path) -> None:
    assert "workshop" not in script.imports(path)
    assert script.imports(path) & PUBLIC
    assert len(path.read_text().splitlines()) <= 200 or path in TRAINERS


@pytest.mark.real
@each
def test_it_also_works_without_mpirun(path: Path) -> None:
    small = {PI: ["--strips", "20000"], KMEANS: ["--clusters", "4", "--iterations", "3"]}
    ended = script.run(path, *small.get(path, []))
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""


@pytest.mark.real
def test_pi_on_two_ranks() -> None:
    ended = script.run(PI, "--strips", "200001", ranks=2)
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert [line.partition(" on ")[0] for line in lines[:2]] == ["rank 0 of 2", "rank 1 of 2"]
    assert "strips: 200001, ranks: 2" in lines[2] and lines[2].startswith("pi is about 3.14159265")
    assert lines[3].endswith(": right") and len(lines) == 4


@pytest.mark.real
@pytest.mark.parametrize(
    ("path", "before", "after", "sentence"),
    [
        (PI, "range(rank, strips, size)", "range(rank, strips - 1, size)", "strips were counted, there are"),
        (RING, "chunk += arrived[: len(chunk)]", WRONG, "ring has a wrong sum of 256 numbers."),
        (MLP, "all_reduce(my_hidden @ my_B) + b", "all_reduce(my_hidden @ my_B + b)", "The y is off by"),
        (SCALING, "chunk += arrived[: len(chunk)]", WRONG, "has a wrong sum of 1024 numbers."),
        (HANGS, "return total / size", "return total", "has wrong means; the last one should be 2.50."),
    ],
    ids=lambda value: value.stem if isinstance(value, Path) else "",
)
def test_a_mistake_is_noticed_at_the_end(path: Path, before: str, after: str, sentence: str, tmp_path: Path) -> None:
    text = path.read_text()
    assert before in text
    (tmp_path / "wrong.py").write_text(text.replace(before, after))
    ended = script.run(tmp_path / "wrong.py", ranks=2)
    assert ended.returncode != 0 and sentence in ended.stderr and "Traceback" not in ended.stderr


@pytest.mark.real
def test_kmeans_finds_the_same_colours_as_scikit_learn(tmp_path: Path) -> None:
    picture = tmp_path / "china.png"
    ended = script.run(KMEANS, "--picture", str(picture), ranks=2)
    assert ended.returncode == 0, ended.stderr
    assert "273280 pixels on 2 ranks, 16 clusters" in ended.stdout
    assert ended.stdout.splitlines()[-1].endswith(": right")
    assert ended.stdout.count("fit ") == 1, "one rank speaks for all"
    pixels = np.asarray(Image.open(picture))
    assert pixels.shape == (427, 640, 3) and len(np.unique(pixels.reshape(-1, 3), axis=0)) == 16


@pytest.mark.real
def test_kmeans_says_that_it_could_not_write(tmp_path: Path) -> None:
    ended = script.run(KMEANS, "--clusters", "2", "--iterations", "1", "--picture", str(tmp_path / "no" / "a.png"))
    assert ended.returncode == 1
    assert "a.png can't be written" in ended.stderr and "Traceback" not in ended.stderr


@pytest.mark.real
def test_bindings_of_two_ranks() -> None:
    told = script.answer(script.run(BINDINGS, "--json", ranks=2))
    assert [one["rank"] for one in told["ranks"]] == [0, 1]
    free = script.run(BINDINGS, "--json", "--threads", "400", ranks=2)
    assert "take turns" in free.stdout, free.stdout
    assert json.loads(free.stdout.splitlines()[-1])["threads"] == 400


@pytest.mark.real
def test_the_mended_function_ends_and_the_broken_ones_say_where_they_stand() -> None:
    mended = script.run(DEADLOCK, ranks=2)
    assert mended.returncode == 0, mended.stderr
    assert "2 ranks: accuracy" in mended.stdout
    for way, lines in (
        ("return", ("right = comm.allreduce(right)", "comm.Barrier()")),
        ("branch", ("seen = comm.allreduce(images)", "comm.Barrier()")),
    ):
        ended = script.run(DEADLOCK, "--seconds", "1", "--broken", way, ranks=2)
        assert ended.returncode != 0
        for rank, line in enumerate(lines):
            assert f"rank {rank} still stands in line " in ended.stderr
            assert line in ended.stderr, ended.stderr
        assert "Traceback" not in ended.stderr


@pytest.mark.real
def test_both_schedules_of_a_pipeline_train_as_one_process_does() -> None:
    ended = script.run(PIPELINE, "--micro-batches", "5", "--steps", "2", ranks=2)
    assert ended.returncode == 0, ended.stderr
    assert "16.7% by the formula, micro-batches held by each stage: [5, 5]" in ended.stdout
    assert "16.7% by the formula, micro-batches held by each stage: [2, 1]" in ended.stdout
    assert ended.stdout.count("difference of a weight from one process: 0.0e+00") == 2


@pytest.mark.real
@pytest.mark.parametrize("ranks", [2, 3])
def test_three_all_reduces_beside_a_model(ranks: int) -> None:
    ended = script.run(RING, "--smallest", "20", "--largest", "5000", "--repeats", "3", ranks=ranks)
    assert ended.returncode == 0, ended.stderr
    rows = [line.split() for line in ended.stdout.splitlines()]
    assert rows[0][:2] == [str(ranks), "ranks,"]
    assert [row[0] for row in rows[2:]] == ["20", "80", "320", "1280"]
    assert all(len(row) == 7 and float(number) > 0 for row in rows[2:] for number in row[1::2])


@pytest.mark.real
def test_a_divided_layer_is_the_undivided_one() -> None:
    ended = script.run(MLP, ranks=2)
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert "131,072 bytes in 2 all-reduces" in lines[-2]  # 64 examples of 128 numbers, forward and backward
    assert lines[-1].startswith("largest difference") and lines[-1].endswith(": right")


@pytest.mark.real
def test_a_step_on_four_ranks_is_predicted_on_two_and_measured(tmp_path: Path) -> None:
    saved, short = tmp_path / "two.json", ["--compute", "0.01", "--steps", "5"]
    ended = script.run(SCALING, *short, "--save", str(saved), ranks=2)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("2 ranks: compute ") and "the link, fitted: latency " in ended.stdout
    assert [line.split()[0] for line in ended.stdout.splitlines() if ", predicted: " in line] == ["2", "4", "8"]
    compared = script.run(SCALING, *short, "--compare", str(saved), ranks=4)
    assert compared.returncode == 0, compared.stderr
    assert compared.stdout.splitlines()[-1].startswith("predicted on fewer ranks: ")
    for file, sentence in ((saved, "has other settings"), (tmp_path / "nowhere.json", "can't be read")):
        refused = script.run(SCALING, "--steps", "5", "--compare", str(file))
        assert refused.returncode == 1 and sentence in refused.stderr and "Traceback" not in refused.stderr


@pytest.mark.real
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("message", "send-without-receive"),
        pytest.param("collective", "other-collective", marks=pytest.mark.exhaustive),
        pytest.param("exception", "raised", marks=pytest.mark.exhaustive),
        pytest.param("batches", "other-collective", marks=pytest.mark.exhaustive),
    ],
)
def test_each_fault_hangs_and_the_hang_doctor_says_why(fault: str, kind: str) -> None:
    watch = [str(Path(sys.executable).parent / "workshop"), "watch", "--after", "1", "--end", "--json", "--"]
    ranked = [openmpi.launcher(), *openmpi.MCA, "-n", "2", "--oversubscribe", sys.executable, str(HANGS), fault]
    environment = os.environ | openmpi.environment() | Placement().rank_environment()
    done = subprocess.run([*watch, *ranked], env=environment, capture_output=True, text=True, timeout=limit(60))
    document = json.loads(done.stdout[done.stdout.index("{") :])
    assert [diagnosis["kind"] for diagnosis in document["diagnoses"]] == [kind], done.stderr
    assert document["ended"] and "step 1: mean gradient 1.50" in done.stdout
    assert "hangs.py:" in document["diagnoses"][0]["sentence"]


@pytest.mark.real
def test_the_script_without_a_fault_ends() -> None:
    ended = script.run(HANGS, ranks=2)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == "2 ranks, 3 steps: right"


@pytest.mark.real
@pytest.mark.parametrize(
    ("path", "cases"),
    [
        (PI, {("--strips", "0"): "--strips should be from 1 to 1000000000", ("--strips", "many"): "invalid int value"}),
        (KMEANS, {("--clusters", "0"): "clusters should be from 1 to 256", ("--seed", "-1"): "the seed 0 or more"}),
        (PIPELINE, {("--steps", "0"): "steps should be from 1 to", ("--pace", "nan"): "pace should be from 0 to 1"}),
        (SCALING, {("--compute", "0"): "compute should be more than", ("--spread", "nan"): "spread should be from"}),
        (HANGS, {("--steps", "0"): "steps should be from 1 to 1000", ("message",): "a fault needs two ranks"}),
        (BINDINGS, {("--threads", "0"): "should be at least 1"}),
        (DEADLOCK, {("--images", "0"): "images should be from", ("--seconds", "nan"): "seconds should be from 1"}),
        (RING, {("--smallest", "2"): "should be from 4 to 67108864", ("--largest", "100"): "the smallest first"}),
        (MLP, {("--width", "0"): "--width should be from 1 to 4096"}),
    ],
    ids=lambda value: value.stem if isinstance(value, Path) else "",
)
def test_bad_arguments_end_in_one_sentence(path: Path, cases: dict[tuple[str, ...], str]) -> None:
    script.refused(path, cases)


@pytest.mark.real
def test_an_exception_ends_all_ranks_under_the_module_mpi4py(tmp_path: Path) -> None:
    """As the lab on failures says. Without `-m mpi4py`, rank 1 waits in MPI_Finalize and rank 0 in the barrier."""
    file = tmp_path / "raises.py"
    text = (
        "from mpi4py import MPI\nif MPI.COMM_WORLD.rank:\n    raise ValueError('damaged')\nMPI.COMM_WORLD.Barrier()\n"
    )
    file.write_text(text)
    ended = script.run(Path("-m"), "mpi4py", str(file), ranks=2)
    assert ended.returncode != 0 and "ValueError: damaged" in ended.stderr
