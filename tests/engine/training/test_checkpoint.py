"""Checkpoints as files: what is written is read, anything else is refused by name."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from workshop.core.errors import BadInput
from workshop.engine.training import checkpoint

PROGRESS = {"epoch": 3, "update": 42, "seconds": 1.5}
SOME = checkpoint.Checkpoint([np.ones((3, 2), np.float32), np.zeros(2, np.float32)], [np.int64(7)], "SGD", PROGRESS)


@given(st.lists(arrays.arrays(np.float32, arrays.array_shapes(max_dims=4, max_side=4)), min_size=1, max_size=12))
def test_what_is_packed_comes_back(weights):
    packed = checkpoint.Checkpoint(weights, weights[::-1], "Adam", PROGRESS).pack()
    found = checkpoint.unpack(packed)
    assert found.progress == PROGRESS
    assert found.optimizer_name == "Adam"
    for one, other in zip(found.weights + found.optimizer, weights + weights[::-1], strict=True):
        np.testing.assert_array_equal(one, other)


def assert_refused_or_as_it_was(data):
    try:
        read = checkpoint.unpack(data, "run 7's")
    except BadInput as refusal:
        assert str(refusal).startswith("run 7's is not a checkpoint") and "give the checkpoint.npz" in str(refusal)
        return
    assert (read.digest, read.progress, read.optimizer_name) == (SOME.digest, PROGRESS, "SGD")


@settings(max_examples=400)
@given(st.data())
def test_a_damaged_file_is_refused_or_read_as_it_was(data):
    packed = bytearray(SOME.pack())
    for _ in range(data.draw(st.sampled_from([1, 1, 1, 3]))):
        packed[data.draw(st.integers(0, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    assert_refused_or_as_it_was(bytes(packed))


@given(st.data())
def test_a_file_that_is_cut_or_lacks_a_piece_is_refused_or_read_as_it_was(data):
    packed = SOME.pack()
    begin = data.draw(st.integers(0, len(packed) - 1))
    end = data.draw(st.just(len(packed)) | st.integers(begin + 1, len(packed)))
    assert_refused_or_as_it_was(packed[:begin] + packed[end:])


def test_arrays_that_a_whole_archive_holds_by_mistake_are_refused():
    """The archive's own checksums are those of the wrong array."""
    about = json.loads(np.load(io.BytesIO(SOME.pack()))["about"].tobytes())
    arrays = {"weights/0000": np.zeros((3, 2), np.float32), "weights/0001": SOME.weights[1], "optimizer/0000": 7}
    assert "sha256 differs" in refused(about=encode(about), **arrays)
    assert "sha256 differs" in refused(about=encode(about), **{**arrays, "weights/0000": np.ones((2, 3), np.float32)})


def packed_at(update):
    return checkpoint.Checkpoint([np.zeros(2)], [], "SGD", PROGRESS | {"update": update}).pack()


def newest_whole(**files):
    def read(name):
        if name not in files:
            raise BadInput(f"There is no {name}.")
        return files[name]

    return checkpoint.newest_whole(read, "of run 7")


def test_the_newest_whole_checkpoint_is_taken_and_damage_is_told():
    names = (checkpoint.NAME, *checkpoint.FORMER)
    files = {name: packed_at(update) for name, update in zip(names, (30, 20, 10), strict=True)}
    data, read, notice = newest_whole(**files)
    assert (data, read.progress["update"], notice) == (files[names[0]], 30, "")
    _, read, notice = newest_whole(**files | {names[0]: files[names[0]][:500]})
    assert read.progress["update"] == 20
    assert notice.startswith("checkpoint.npz of run 7 is not a checkpoint of a training run")
    assert notice.endswith("The run goes on from the older checkpoint-1.npz, with 20 updates done.")
    _, read, notice = newest_whole(**{names[0]: b"", names[1]: b"", names[2]: files[names[2]]})
    assert read.progress["update"] == 10 and "older checkpoint-2.npz" in notice
    with pytest.raises(BadInput, match=r"checkpoint\.npz of run 7 is not a checkpoint"):
        newest_whole(**{names[0]: b"", names[1]: b""})
    with pytest.raises(BadInput, match=r"There is no checkpoint\.npz"):
        newest_whole(**{names[1]: files[names[1]]})


def test_damage_that_hides_the_last_array_is_found():
    packed = bytearray(SOME.pack())
    first, last, end = packed.index(b"PK\x01\x02"), packed.rindex(b"PK\x01\x02"), packed.rindex(b"PK\x05\x06")
    packed[end + 12 : end + 16] = (last - first).to_bytes(4, "little")  # how long the directory is
    del packed[last:end]
    with pytest.raises(BadInput, match="their sha256 differs"):
        checkpoint.unpack(bytes(packed))


def encode(about):
    return np.frombuffer(json.dumps(about).encode(), np.uint8)


def refused(**arrays_):
    file = io.BytesIO()
    np.savez(file, **arrays_)
    with pytest.raises(BadInput) as said:
        checkpoint.unpack(file.getvalue(), "that")
    return str(said.value)


def test_foreign_archives_are_refused():
    about = {"format": checkpoint.FORMAT, "optimizer": "SGD", "progress": {"update": 0}}
    assert "that is not a checkpoint" in refused(x_train=np.zeros(3))
    assert "doesn't say how far" in refused(about=encode(about), **{"weights/0000": np.zeros(3)})
    assert "its format is 9" in refused(about=encode(about | {"format": 9}))
    pickled = np.array([{"a": 1}], dtype=object)
    assert "not a checkpoint" in refused(about=encode(about), **{"weights/0000": pickled})


def variables(*shapes):
    return [SimpleNamespace(shape=shape) for shape in shapes]


def test_a_checkpoint_of_another_model_is_named():
    checkpoint.check(variables((3, 2), (2,)), SOME)
    with pytest.raises(BadInput, match=r"of another model: its weights have other shapes"):
        checkpoint.check(variables((3, 2)), SOME)
    with pytest.raises(BadInput, match=r"run 7 is of another model"):
        checkpoint.check(variables((4, 2), (2,)), SOME, "run 7")
