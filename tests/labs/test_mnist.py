"""The lab's script as a learner runs it: under mpirun and by itself, without anything of ours."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support import need
from workshop import config, topology
from workshop.mpi import horovod, openmpi
from workshop.placement import THREAD_VARIABLES, Placement

SCRIPT = config.labs_folder() / "mnist" / "train.py"
SEGMENTS = Path("/dev/shm")


def run(*words: str, ranks: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    """The script on so many ranks, each on a core where there are enough; 0: without mpirun."""
    started = []
    if ranks:
        cores = topology.allowed_cores(topology.machine())
        started = [openmpi.launcher(), "-n", str(ranks), *openmpi.arguments(Placement(ranks=ranks), cores)]
    plain = {name: value for name, value in os.environ.items() if name not in THREAD_VARIABLES}
    return subprocess.run(
        [*started, sys.executable, str(SCRIPT), *words],
        capture_output=True,
        text=True,
        timeout=150,
        env=plain | openmpi.environment() | variables,
    )


def answer(ended: subprocess.CompletedProcess[str]) -> dict:
    assert ended.returncode == 0, ended.stderr[-2000:]
    return json.loads(ended.stdout.splitlines()[-1])


def test_it_imports_nothing_of_ours():
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(SCRIPT.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    assert "horovod" in imported and "workshop" not in imported


@pytest.mark.mpi
def test_two_ranks_learn_the_digits_and_keep_equal_weights(tmp_path: Path):
    need(horovod.built(), "Horovod")
    checkpoint = tmp_path / "digits.weights.h5"
    ended = run("--json", "--checkpoint", str(checkpoint), ranks=2, OMP_NUM_THREADS="1")
    told = answer(ended)
    assert (told["ranks"], told["threads"], told["batch"]) == (2, 1, 64)
    assert len(told["weights"]) == 2 and len(set(told["weights"])) == 1
    assert told["accuracy"] >= 0.9
    assert told["measured_steps"] == told["steps"] - 2 == 12 * (1437 // 128) - 2
    assert told["images_per_second"] > 0
    assert checkpoint.stat().st_size > 225_000 * 4
    assert ended.stdout.count("images/s") == 1, "one rank speaks for all"


@pytest.mark.mpi
def test_one_process_needs_no_mpirun(tmp_path: Path):
    need(horovod.built(), "Horovod")
    pictures = np.random.default_rng(0).integers(0, 255, (200, 28, 28), np.uint8)
    file = tmp_path / "mnist.npz"
    np.savez(file, x_train=pictures, y_train=np.arange(200) % 10, x_test=pictures[:20], y_test=np.arange(20) % 10)
    before = set(SEGMENTS.glob(f"sm_segment.*.{os.getuid()}.*"))
    words = ("--json", "--data", str(file), "--epochs", "3", "--steps", "5")
    told = answer(run(*words, HOROVOD_TIMELINE=""))
    assert (told["ranks"], told["steps"], told["measured_steps"]) == (1, 5, 3)
    alone = answer(run(*words, "--plain"))
    assert alone["weights"] == told["weights"], "with one rank Horovod changes nothing"
    assert alone["threads"] == len(os.sched_getaffinity(0))
    left = set(SEGMENTS.glob(f"sm_segment.*.{os.getuid()}.*")) - before
    assert not [segment for segment in left if not _used(segment)]


def _used(segment: Path) -> bool:
    """Whether a living process has mapped it: another test's, or another user's of the machine."""
    for maps in Path("/proc").glob("[0-9]*/maps"):
        try:
            if str(segment) in maps.read_text():
                return True
        except OSError:
            continue
    return False


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--epochs", "0", "--rate", "nan"], "at least 1, and the rate above 0"),
        (["--plain", "--data", "nowhere.npz"], "is no mnist.npz"),
        (["--plain", "--batch", "5000"], "is more than the 1437 images"),
    ],
)
def test_bad_input_is_one_sentence(words: list[str], said: str):
    ended = run(*words)
    assert ended.returncode != 0
    assert said in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr
