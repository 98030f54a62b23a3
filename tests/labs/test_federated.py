"""The federated lab's script: the same on any number of ranks, as the workload of the same name, and broken on
purpose."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

from tests.labs import script
from tests.labs.script import answer
from tests.support import limit
from workshop.core import config

SCRIPT = config.labs_folder() / "federated" / "train.py"
run = partial(script.run, SCRIPT)
SHORT = ("--partition", "label", "--rounds", "4", "--rate", "0.05", "--json")
IMAGE = 1.01 / 360  # of accuracy: one held-out image on the other side


@cache
def told(ranks: int) -> dict:
    return answer(run("--way", "all", *SHORT, ranks=ranks, OMP_NUM_THREADS="1"))


@pytest.mark.exhaustive
@pytest.mark.real
@pytest.mark.parametrize("ranks", [2, 3])
def test_it_does_not_matter_who_lives_where(ranks: int):
    one, several = told(1), told(ranks)
    assert several["ranks"] == ranks
    assert len(several["weights"]) == ranks and len(set(several["weights"])) == 1
    assert [several[name] for name in ("images", "labels", "bytes_up")] == [
        one[name] for name in ("images", "labels", "bytes_up")
    ]
    np.testing.assert_allclose(several["drift"], one["drift"], rtol=1e-3)
    for way, scores in one["ways"].items():
        np.testing.assert_allclose(several["ways"][way]["held_out"], scores["held_out"], atol=2 * IMAGE, err_msg=way)


@pytest.mark.exhaustive
@pytest.mark.real
def test_on_label_skew_federated_is_far_above_each_alone():
    ways = {way: scores["held_out"][-1] for way, scores in told(1)["ways"].items()}
    assert ways["federated"] > ways["alone"] + 0.15
    assert ways["alone"] < 0.5, "nobody alone has seen more than three of the digits"
    assert [sum(count > 0 for count in row) for row in told(1)["labels"]] == [3] * 4


@pytest.mark.exhaustive
@pytest.mark.real
def test_what_goes_up_is_updates_and_counts():
    one = told(2)
    assert one["bytes_up"] == 4 * 4 * (4 * one["parameters"] + 8)  # rounds, institutions


# Runs the script and the workload on the same images in one process, and prints what both came to.
BOTH = """
import json, runpy, sys
import numpy as np
from mpi4py import MPI
from workshop.engine.context import Memory, RankContext
from workshop.workloads.mnist.data import images
from workshop.extension import no_artifacts
from workshop.registry import workload
from workshop.workloads.federated.run import Federation
script, data, cases = sys.argv[1:]
told = []
for case in json.loads(cases):
    given = {"data": data, "rounds": 2, "way": "all", **case}
    sys.argv[1:] = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    lab = runpy.run_path(script, run_name="__main__")
    known = workload("federated")
    params = known.check({**given, "algorithm": "fedprox" if "mu" in case else "fedavg"})
    federation = Federation(RankContext(MPI.COMM_SELF, Memory(), known.inputs(params, no_artifacts)), params)
    start = federation.ways[0].model.copy()
    federation.rounds()
    metrics = federation.finish()
    apart = [np.abs(lab["start"] - start).max()]
    for way in federation.ways[:2]:
        apart.append(np.abs(lab["models"][way.name] - way.model).max() / np.abs(way.model - start).max())
    for one, weights in federation.ways[2].models.items():
        apart.append(np.abs(lab["models"]["alone"][one] - weights).max() / np.abs(weights - start).max())
    told.append({
        "apart": [float(value) for value in apart],
        "images": [lab["counts"], [one["images"] for one in metrics["institutions"]]],
        "labels": [lab["have"], [one["labels"] for one in metrics["institutions"]]],
        "drift": [float(np.mean(lab["drifts"])), metrics["drift"]],
        "scores": [[lab[where][way][-1] for way in lab["ways"] for where in ("held_out", "own")],
                   [metrics["by_way"][way][f"{where}_score"] for way in lab["ways"] for where in ("held_out", "own")]],
    })
print(json.dumps(told))
"""
CASES = (
    {"partition": "label", "seed": 3},
    {"partition": "dirichlet", "alpha": 0.3, "participation": 0.5, "institutions": 5, "batch": 16},
    {"partition": "iid", "mu": 0.5},
)


@pytest.mark.real
def test_it_learns_what_the_workload_learns(tmp_path: Path):
    """The same shares, the same order, the same arithmetic: on the same images, the same models."""
    draws = np.random.default_rng(0)
    digits = np.arange(10).repeat(15)
    shapes = draws.integers(0, 255, (10, 28, 28))  # a pattern for each digit, with much noise: it can be learned
    pixels = np.clip(0.5 * shapes[digits] + draws.integers(0, 128, (150, 28, 28)), 0, 255).astype(np.uint8)
    mixed = draws.permutation(150)
    train, test = mixed[:110], mixed[110:]
    file = tmp_path / "mnist.npz"
    np.savez(file, x_train=pixels[train], y_train=digits[train], x_test=pixels[test], y_test=digits[test])
    words = [sys.executable, "-c", BOTH, str(SCRIPT), str(file), json.dumps(CASES)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=limit(220))
    assert ended.returncode == 0, ended.stderr[-2000:]
    for case, one in zip(CASES, json.loads(ended.stdout.splitlines()[-1]), strict=True):
        assert one["apart"][0] == 0, "they begin alike"
        assert max(one["apart"]) < 1e-3, case
        for name in ("images", "labels"):
            assert one[name][0] == one[name][1], (case, name)
        np.testing.assert_allclose(*one["drift"], rtol=1e-3)
        np.testing.assert_allclose(*one["scores"], atol=1.01 / 20)


def changed(tmp_path: Path, before: str, after: str) -> Path:
    """The script with one change, as the README asks for."""
    text = SCRIPT.read_text()
    assert text.count(before) == 1, before
    path = tmp_path / "wrong.py"
    path.write_text(text.replace(before, after))
    return path


@pytest.mark.exhaustive
@pytest.mark.real
def test_a_broadcast_that_is_left_out_is_found_at_the_end(tmp_path: Path):
    wrong = changed(tmp_path, 'models["federated"] = broadcast(shared + mean)', 'models["federated"] = shared + mean')
    ended = script.run(wrong, "--rounds", "1", "--epochs", "1", ranks=2)
    assert ended.returncode != 0
    assert "The ranks' models have drifted apart." in ended.stderr


@pytest.mark.exhaustive
@pytest.mark.real
def test_an_institution_that_claims_too_many_images_takes_over(tmp_path: Path):
    """The exercise of step 7: the shared model becomes that of whoever lies."""
    wrong = changed(
        tmp_path, "weights[one] = [counts[one]]", "weights[one] = [counts[one] * (1000 if one == 0 else 1)]"
    )
    lied = answer(script.run(wrong, "--partition", "label", "--rounds", "2", "--json"))
    assert lied["ways"]["federated"]["held_out"][-1] < 0.45, "it has seen three of the digits"
    assert lied["own"]["federated"][0] > 0.9 > max(lied["own"]["federated"][1:])


@pytest.mark.exhaustive
@pytest.mark.real
def test_an_update_that_is_no_number_is_left_out_by_name(tmp_path: Path):
    before = "updates[one] = trained(shared, *silos[one][:2], number, one, mu=options.mu) - shared"
    wrong = changed(tmp_path, before, f"{before} + (np.nan if one == 1 else 0)")
    ended = script.run(wrong, "--partition", "iid", "--rounds", "2", "--epochs", "1", "--json")
    found = answer(ended)
    assert found["dropped"] == [2, 2]
    assert ended.stdout.count("institution 2 sent an update that is no number; it is left out") == 2
    assert found["ways"]["federated"]["held_out"][-1] > 0.25, "guessing has 0.1"


@pytest.mark.real
def test_bad_input_is_one_sentence(tmp_path: Path):
    few = {"x_train": np.zeros((20, 28, 28), np.uint8), "y_train": np.arange(20) % 10}
    np.savez(tmp_path / "few.npz", **few, x_test=few["x_train"], y_test=few["y_train"])
    (tmp_path / "text.npz").write_bytes(b"x_train")
    few_images = ("--data", str(tmp_path / "few.npz"))
    cases = {
        ("--rounds", "0"): "--rounds 0 should be from 1 to",
        **{("--alpha", value): "should be above 0" for value in ("0", "nan")},
        ("--participation", "1.5"): "at most 1",
        ("--mu", "-1"): "--mu -1.0 should be from 0 to 1000",
        ("--partition", "label", "--classes", "2"): "--classes is too small: some digit would belong to nobody",
        ("--data", str(tmp_path / "text.npz")): "text.npz is no mnist.npz: ",
        (*few_images, "--institutions", "11"): "--institutions 11 is too many for 20 images: each needs two",
        (*few_images, "--institutions", "10", "--alpha", "0.000001"): "would have fewer than two images",
    }
    script.refused(SCRIPT, cases)
