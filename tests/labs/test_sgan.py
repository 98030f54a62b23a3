"""The S-GAN lab's script: both networks on several ranks, and like the workload of the same name."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.labs import script
from tests.labs.script import answer
from tests.support import limit, need
from workshop.core import config
from workshop.mpi import horovod

SCRIPT = config.labs_folder() / "sgan" / "train.py"
run = partial(script.run, SCRIPT)


@pytest.mark.exhaustive
@pytest.mark.real
def test_two_ranks_train_both_networks_alike(tmp_path: Path):
    need(horovod.built(), "Horovod")
    picture = tmp_path / "digits.png"
    ended = run("--json", "--iterations", "40", "--intra", "1", "--picture", str(picture), ranks=2)
    told = answer(ended)
    assert (told["ranks"], told["threads"], told["batch"], told["evaluations"]) == (2, 1, 64, 3)
    assert len(told["weights"]) == 2 and len(set(told["weights"])) == 1
    assert told["accuracy"] >= 0.6, "guessing has 0.1"
    assert told["measured_steps"] == 38 and told["images_per_second"] > 0
    assert told["generator_loss"] > 0
    assert len(told["memory"]) == 3 and min(told["memory"]) > 100e6
    assert told["seconds"]["evaluate"] > 0
    assert ended.stdout.count("images/s;") == 1, "one rank speaks for all"
    pixels = np.asarray(Image.open(io.BytesIO(picture.read_bytes())))
    assert pixels.shape == (3 * 28, 8 * 28) and pixels.std() > 1


@pytest.mark.exhaustive
@pytest.mark.real
def test_a_network_that_is_left_out_is_found_at_the_end(tmp_path: Path):
    need(horovod.built(), "Horovod")
    text = SCRIPT.read_text()
    changed = text.replace(
        "gradients = averaged(gradients)", "gradients = averaged(gradients[: len(mine)]) + gradients[len(mine) :]"
    )
    assert changed != text
    (tmp_path / "wrong.py").write_text(changed)
    ended = script.run(tmp_path / "wrong.py", "--iterations", "3", "--intra", "1", ranks=2)
    assert ended.returncode != 0
    assert "The ranks' weights have drifted apart." in ended.stderr


@pytest.mark.real
def test_one_process_needs_no_mpirun():
    need(horovod.built(), "Horovod")
    words = ("--json", "--iterations", "4", "--intra", "1", "--inter", "1", "--inference", "predict_on_batch")
    told, plain = answer(run(*words)), answer(run(*words, "--plain"))
    assert (told["ranks"], told["iterations"], told["measured_steps"]) == (1, 4, 2)
    assert plain["weights"] == told["weights"], "with one rank Horovod changes nothing"


# Prints, as JSON, the shapes of both networks' weights and some constants: of the script, and of the workload.
BOTH = """
import json, runpy, sys
script = sys.argv[1]
sys.argv[1:] = ["--plain", "--method", "supervised", "--iterations", "1", "--size", "56"]
lab = runpy.run_path(script, run_name="__main__")
from workshop.workloads.sgan import SganParams, models, step
nets = models.Discriminator(56).model, models.generator(56)
shapes = lambda variables: sorted(list(variable.shape) for variable in variables)
defaults = {name: lab["parser"].get_default(name) for name in ("labels", "batch", "iterations", "evaluate_every")}
told = [
    [shapes(lab["mine"]), shapes(lab["its"]), lab["LATENT"], lab["RAMP"], lab["parser"].get_default("rate"), defaults],
    [*(shapes(net.trainable_variables) for net in nets), models.LATENT, step.RAMP, models.RATE,
     {name: getattr(SganParams(), name) for name in defaults}],
]
print(json.dumps(told))
"""


@pytest.mark.real
def test_it_trains_what_the_workload_trains():
    ended = subprocess.run(
        [sys.executable, "-c", BOTH, str(SCRIPT)], capture_output=True, text=True, timeout=limit(100)
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    lab, workload = json.loads(ended.stdout.splitlines()[-1])
    assert lab == workload


@pytest.mark.real
def test_bad_input_is_one_sentence(tmp_path: Path):
    digits = np.arange(40) % 10
    few = {"x_train": np.zeros((40, 28, 28), np.uint8), "y_train": digits}
    np.savez(tmp_path / "few.npz", **few, x_test=few["x_train"], y_test=digits)
    (tmp_path / "text.npz").write_bytes(b"x_train")
    cases = {
        **{(f"--{name}", "0"): f"--{name} 0 should be at least 1" for name in ("labels", "batch", "iterations")},
        **{("--rate", rate): "above 0 and at most 100" for rate in ("nan", "0")},
        ("--size", "30"): "invalid choice: 30",
        ("--picture", "digits.jpg"): "should end in .png",
        ("--labels", "150"): "--labels 150 is more than the",
        ("--batch", "1400"): "--batch 1400 is more than a share of the unlabelled images, on 1 rank",
        ("--data", str(tmp_path / "text.npz")): "text.npz is no mnist.npz: ",
        ("--data", str(tmp_path / "few.npz"), "--labels", "5"): "--labels 5 is more than the 4 images that there are",
        ("--data", str(tmp_path / "few.npz"), "--labels", "4"): "more than a share of the unlabelled images",
    }
    script.refused(SCRIPT, {("--plain", *given): said for given, said in cases.items()})
