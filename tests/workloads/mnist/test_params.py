"""Models and checkpoints of one's own: what is taken, and what is refused before any rank is started."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from workshop.core.errors import BadInput
from workshop.core.forms import going_on
from workshop.engine.training.checkpoint import Checkpoint
from workshop.extension import no_artifacts
from workshop.workloads.mnist import WORKLOAD


def inputs(artifacts=no_artifacts, **values):
    return WORKLOAD.inputs(WORKLOAD.check({"data": "digits", **values}), artifacts)


def archive(**files):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in files.items():
            packed.writestr(name.replace("__", "."), text)
    return file.getvalue()


@pytest.mark.parametrize("content", [b"", archive(config__json="{}")])
def test_a_model_file_that_is_none_is_refused(tmp_path, content):
    path = tmp_path / "mine.keras"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"mine\.keras is not a Keras model"):
        inputs(model=str(path))


@pytest.mark.parametrize("param", ["model", "resume"])
def test_a_file_that_is_not_there_is_refused(tmp_path, param):
    with pytest.raises(BadInput, match="can't be read"):
        inputs(**{param: str(tmp_path / "none")})


def packed(epoch):
    return Checkpoint([np.zeros(3)], [], "SGD", {"epoch": epoch, "update": 10}).pack()


def test_a_checkpoint_comes_from_a_run_or_a_file(tmp_path):
    path = tmp_path / "checkpoint.npz"
    path.write_bytes(packed(2))
    assert inputs(resume=str(path))["checkpoint.npz"] == path.read_bytes()
    asked = []

    def artifacts(run, name):
        asked.append((run, name))
        return packed(2)

    assert inputs(artifacts, resume="17")["checkpoint.npz"] == packed(2)
    assert asked == [(17, "checkpoint.npz")]


def test_a_damaged_checkpoint_of_a_run_gives_way_to_the_one_before():
    files = {"checkpoint.npz": packed(3)[:-40], "checkpoint-1.npz": packed(2)}
    read = inputs(lambda run, name: files[name], resume="17")
    assert read["checkpoint.npz"] == files["checkpoint-1.npz"]
    assert b"checkpoint.npz of run 17 is not a checkpoint" in read["checkpoint.notice"]


def test_a_checkpoint_that_has_all_epochs_behind_it_is_refused():
    with pytest.raises(BadInput, match="has 8 epochs behind it, and epochs asks for 8 in all; ask for more, like 9"):
        inputs(lambda run, name: packed(8), resume="17")


def test_a_checkpoint_that_is_none_is_refused(tmp_path):
    path = tmp_path / "notes.npz"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(BadInput, match=r"notes\.npz is not a checkpoint"):
        inputs(resume=str(path))
    with pytest.raises(BadInput, match="Without a session there is no run 17"):
        inputs(resume="17")
    with pytest.raises(BadInput, match="can't be read"):
        inputs(resume="9" * 50)
    with pytest.raises(BadInput, match="at most 1000 characters"):
        inputs(resume="9" * 5000)


def test_a_run_that_goes_on_takes_what_the_earlier_one_was_given(tmp_path):
    rng = np.random.default_rng(0)
    pictures, labels = rng.integers(0, 256, (30, 28, 28), np.uint8), np.arange(30) % 10
    np.savez(tmp_path / "own.npz", x_train=pictures, y_train=labels, x_test=pictures, y_test=labels)
    first = inputs(data=str(tmp_path / "own.npz"))
    (tmp_path / "own.npz").unlink()
    kept = {f"input/{name}": data for name, data in first.items()} | {"checkpoint.npz": packed(1)}

    def artifacts(run, name):
        if name not in kept:
            raise BadInput(f"Run {run} has kept no {name}.")
        return kept[name]

    again = going_on(WORKLOAD.params, {"data": str(tmp_path / "own.npz"), "model": "dense", "resume": "7"})
    assert again == {"data": "earlier", "model": "dense", "resume": "7"}
    found = inputs(artifacts, **again)
    assert {name: found[name] for name in first} == first
    with pytest.raises(BadInput, match="Run 7 has kept no model of its own"):
        inputs(artifacts, model="earlier", resume="7")
    with pytest.raises(BadInput, match="resume names no run from which to take it"):
        inputs(artifacts, data="earlier")
