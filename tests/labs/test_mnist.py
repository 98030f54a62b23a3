"""The lab's script as a learner runs it: under mpirun and by itself, without anything of ours."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.labs import script
from tests.labs.script import answer
from tests.support import need
from workshop.core import config
from workshop.mpi import horovod

SCRIPT = config.labs_folder() / "mnist" / "train.py"
SEGMENTS = Path("/dev/shm")
run = partial(script.run, SCRIPT)


@pytest.mark.real
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


@pytest.mark.exhaustive
@pytest.mark.real
def test_one_process_needs_no_mpirun(tmp_path: Path):
    need(horovod.built(), "Horovod")
    pictures = np.random.default_rng(0).integers(0, 255, (200, 28, 28), np.uint8)
    file = tmp_path / "mnist.npz"
    np.savez(file, x_train=pictures, y_train=np.arange(200) % 10, x_test=pictures[:20], y_test=np.arange(20) % 10)
    before = set(SEGMENTS.glob(f"sm_segment.*.{os.getuid()}.*"))
    words = ("--json", "--data", str(file), "--epochs", "3", "--steps", "5")
    told = answer(run(*words, HOROVOD_TIMELINE=""))
    assert (told["ranks"], told["steps"], told["measured_steps"]) == (1, 5, 3)
    plain = run(*words, "--plain")
    alone = answer(plain)
    assert plain.stdout.startswith("1 rank × ") and ", 200 images, 5 steps of 1 × 64" in plain.stdout
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


@pytest.mark.real
def test_bad_input_is_one_sentence(tmp_path: Path):
    pictures = np.zeros((20, 28, 28), np.uint8)
    good = {"x_train": pictures, "y_train": np.arange(20) % 10, "x_test": pictures, "y_test": np.arange(20) % 10}
    np.savez_compressed(tmp_path / "good.npz", **good)
    (tmp_path / "truncated.npz").write_bytes((tmp_path / "good.npz").read_bytes()[:-100])
    np.save(tmp_path / "array.npy", pictures)
    np.savez(tmp_path / "half.npz", x_train=pictures)
    for name, changed in {
        "flat": {"x_train": pictures.reshape(20, 784)},
        "letters": {"y_train": np.array(list("abcdefghijklmnopqrst"))},
        "none": {"x_test": pictures[:0], "y_test": np.arange(0)},
    }.items():
        np.savez(tmp_path / f"{name}.npz", **good | changed)
    options = {
        ("--epochs", "0"): "at least 1, and the rate above 0",
        ("--steps", "0"): "at least 1",
        ("--batch", "many"): "invalid int value",
        **{("--rate", rate): "the rate above 0 and at most 100" for rate in ("nan", "0")},
        ("--warmup", "nan"): "from 0 to 1000",
        ("--checkpoint", "weights"): "should end in .weights.h5",
    }
    names = ("truncated.npz", "array.npy", "half.npz", "nowhere.npz", "flat.npz", "letters.npz", "none.npz")
    options |= {("--data", str(tmp_path / name)): f"{name} is no mnist.npz: " for name in names}
    options[("--batch", "5000")] = "--batch 5000 on 1 rank is more than the 1437 images"
    script.refused(SCRIPT, {("--plain", *given): said for given, said in options.items()})
