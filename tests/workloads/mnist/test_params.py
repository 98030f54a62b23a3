"""What a run may be asked for, and what is said of what can't be used; all before any rank is started."""

from __future__ import annotations

import io
import os
import zipfile

import numpy as np
import pytest

from workshop.core.errors import BadInput
from workshop.core.forms import going_on, named
from workshop.engine.training.checkpoint import Checkpoint
from workshop.extension import no_artifacts
from workshop.workloads.mnist import WORKLOAD


def inputs(artifacts=no_artifacts, **values):
    return WORKLOAD.inputs(WORKLOAD.check({"data": "digits", **values}), artifacts)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"epochs": 0}, "epochs is 0: it should be at least 1"),
        ({"batch": 0}, "batch is 0: it should be at least 1"),
        ({"rate": "nan"}, "rate is"),
        ({"rate": "-1"}, "rate is -1"),
        ({"exchange": "smoke"}, "exchange is 'smoke'"),
        ({"compression": "8bit", "exchange": "horovod"}, "compression is 8bit, but Horovod can only send float16"),
        ({"compression": "8bit", "exchange": "none"}, "but the exchange none can't compress; choose mpi, mpi-overlap"),
        ({"compression": "int4"}, "compression is 'int4'"),
        ({"bucket": 0, "exchange": "mpi-overlap"}, "bucket is 0"),
        ({"keep": 0, "compression": "topk"}, "keep is 0"),
        ({"broadcast": "perhaps"}, "broadcast is 'perhaps'"),
        ({"learning": 1}, "learning is not one of its settings"),
        ({"target": 2}, "target is 2"),
    ],
)
def test_params_out_of_range_are_refused_in_one_sentence(values, words):
    with pytest.raises(BadInput) as refused:
        WORKLOAD.check(values)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_learning_rate_of_nan_says_what_would_be_right():
    with pytest.raises(BadInput, match="finite number"):
        WORKLOAD.check({"rate": "nan"})


def test_switches_are_words_on_the_command_line():
    params = WORKLOAD.check({"broadcast": "no", "shard": "off", "divide": "false", "average": "yes"})
    assert (params.broadcast, params.shard, params.divide, params.average) == (False, False, False, True)


def test_digits_need_no_file():
    assert sum(len(data) for data in inputs().values()) < 1000


def test_a_data_folder_without_mnist_is_refused(tmp_path):
    (tmp_path / "readme.txt").write_text("nothing here")
    with pytest.raises(BadInput, match=str(tmp_path)):
        inputs(data=str(tmp_path))


def archive(**files):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in files.items():
            packed.writestr(name.replace("__", "."), text)
    return file.getvalue()


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", archive(), archive(config__json="{}"), archive(config__json="{", model__weights__h5="")],
)
def test_a_model_file_that_is_none_is_refused(tmp_path, content):
    path = tmp_path / "mine.keras"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"mine\.keras is not a Keras model"):
        inputs(model=str(path))


def test_a_model_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"none\.keras can't be read \(No such file or directory\)"):
        inputs(model=str(tmp_path / "none.keras"))


@pytest.mark.parametrize("param", ["model", "resume"])
def test_what_is_no_ordinary_file_is_refused(tmp_path, param):
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", str(tmp_path / "pipe"), str(tmp_path)):
        with pytest.raises(BadInput, match="is no ordinary file"):
            inputs(**{param: path})
    for path in ("~nobody-of-that-name/x", "with\0null"):
        with pytest.raises(BadInput, match="is no path"):
            inputs(**{param: path})


def test_a_damaged_archive_is_refused(tmp_path):
    packed = bytearray(archive(config__json="{}" * 200, model__weights__h5="x"))
    packed[60:80] = b"\xff" * 20
    (tmp_path / "mine.keras").write_bytes(bytes(packed))
    with pytest.raises(BadInput, match="is not a Keras model"):
        inputs(model=str(tmp_path / "mine.keras"))


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


def test_paths_are_shown_by_their_last_name():
    shown = named(WORKLOAD.params, {"data": "/home/teacher/mnist/", "model": "cnn", "resume": "", "seed": 3})
    assert shown == {"data": "mnist", "model": "cnn", "resume": "", "seed": 3}
