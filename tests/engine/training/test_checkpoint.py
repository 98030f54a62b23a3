"""Checkpoints as files: what is written is read, anything else is refused by name."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
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


@given(st.binary(max_size=300))
def test_other_bytes_are_refused(data):
    with pytest.raises(BadInput, match="lunch is not a checkpoint"):
        checkpoint.unpack(data, "lunch")


@given(st.data())
def test_a_damaged_file_is_refused_or_read_as_it_was(data):
    packed = bytearray(SOME.pack())
    at = data.draw(st.integers(0, len(packed) - 1))
    packed[at] ^= data.draw(st.integers(1, 255))
    try:
        found = checkpoint.unpack(bytes(packed))
    except BadInput:
        return
    assert [weight.shape for weight in found.weights] == [(3, 2), (2,)]


def test_damage_that_hides_the_last_array_is_found():
    packed = bytearray(SOME.pack())
    first, last, end = packed.index(b"PK\x01\x02"), packed.rindex(b"PK\x01\x02"), packed.rindex(b"PK\x05\x06")
    packed[end + 12 : end + 16] = (last - first).to_bytes(4, "little")  # how long the directory is
    del packed[last:end]
    with pytest.raises(BadInput, match="some of its arrays are missing"):
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
    about = {"format": 1, "optimizer": "SGD", "progress": {"epoch": -1, "update": 0}}
    assert "that is not a checkpoint" in refused(x_train=np.zeros(3))
    assert "doesn't say how far" in refused(about=encode(about), **{"weights/0000": np.zeros(3)})
    assert "its format is 9" in refused(about=encode(about | {"format": 9}))
    pickled = np.array([{"a": 1}], dtype=object)
    assert "not a checkpoint" in refused(about=encode(about), **{"weights/0000": pickled})


def variables(*shapes):
    return [SimpleNamespace(shape=shape) for shape in shapes]


def test_a_checkpoint_of_another_model_says_where_it_differs():
    checkpoint.check(variables((3, 2), (2,)), SOME)
    with pytest.raises(BadInput, match=r"it has 2 arrays of weights, this model has 1"):
        checkpoint.check(variables((3, 2)), SOME)
    with pytest.raises(BadInput, match=r"run 7 is of another model: its weight 0 is 3x2, this model's is 4x2"):
        checkpoint.check(variables((4, 2), (2,)), SOME, "run 7")


def test_a_checkpoint_of_another_optimizer_is_refused():
    model = SimpleNamespace(weights=variables((3, 2), (2,)))
    with pytest.raises(BadInput, match=r"trained with the optimizer SGD, this run has SimpleNamespace"):
        checkpoint.restore(model, SimpleNamespace(variables=variables((3, 2))), SOME)
