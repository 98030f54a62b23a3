"""From a path to images: what is found, what it is called, and what is refused with which words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.workloads.mnist.data.made import npz, some
from tests.workloads.mnist.data.refusals import names, refused
from workshop.workloads.mnist.data.images import Images, find, read

pytestmark = pytest.mark.usefixtures("workshop_home")


def given(path: Path | str) -> Images:
    return read(find(str(path)))


def same(images: Images, train: tuple, held_out: tuple) -> bool:
    """Whether these are the images, in the types that are promised."""
    found = (images.train_images, images.train_labels, images.held_out_images, images.held_out_labels)
    assert [array.dtype for array in found] == [np.uint8, np.int64] * 2
    return all(np.array_equal(a, b) for a, b in zip(found, (*train, *held_out), strict=True))


def test_an_npz_file(tmp_path):
    path = tmp_path / "mine.npz"
    path.write_bytes(npz(30, 12))
    inputs = find(str(path))
    assert set(inputs) == {"data/mnist.npz", "data/words"} and inputs["data/mnist.npz"] == path.read_bytes()
    assert same(read(inputs), some(30), some(12, 1))
    assert read(inputs).words == "the npz file that was given (30 images)"


def test_paths_may_be_relative_or_begin_at_home(tmp_path, monkeypatch):
    (tmp_path / "mine.npz").write_bytes(npz())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert given("mine.npz").words == given("~/mine.npz").words == given("./mine.npz").words


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("no.npz", "no.npz can't be read (No such file or directory)"),
        ("letter.txt", "can't be read as npz"),
        ("empty.npz", "(sha256 e3b0c44298fc1c14) can't be read as npz"),
        ("large.npz", "over 64 MB"),
    ],
)
def test_paths_that_cannot_be_taken(tmp_path, monkeypatch, path, says):
    monkeypatch.chdir(tmp_path)
    Path("letter.txt").write_text("This is a letter.")
    Path("empty.npz").touch()
    with Path("large.npz").open("wb") as file:
        file.truncate((64 << 20) + 1)
    assert says in refused(lambda: find(path))


IMAGES, LABELS = some(12)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (
            {"x_train": IMAGES.astype(np.float32)},
            "float32 [12, 28, 28] as x_train and uint8 [12] as y_train; MNIST has images uint8 [n, 28, 28], and n",
        ),
        ({"x_train": IMAGES[:, :27]}, "uint8 [12, 27, 28] as x_train"),
        ({"x_test": IMAGES[:0], "y_test": LABELS[:0]}, "uint8 [0, 28, 28] as x_test"),
        ({"y_train": LABELS[:11]}, "uint8 [12, 28, 28] as x_train and uint8 [11] as y_train"),
        ({"y_train": np.where(np.arange(12) == 5, 10, LABELS)}, "n labels from 0 to 9"),
        ({"y_test": None}, "has no y_test; give an npz file with x_train, y_train, x_test, y_test"),
        ({"x_test": np.array([{}], object)}, "can't be read as npz"),
    ],
)
def test_npz_files_that_hold_something_else(tmp_path, other, says):
    path = tmp_path / "mine.npz"
    path.write_bytes(npz(12, 12, **other))
    sentence = refused(lambda: find(str(path)))
    assert says in sentence
    assert names(sentence, path, path.read_bytes())


def test_digits_need_no_files():
    assert set(find("digits")) == {"data/words"}
    found = given("digits")
    assert found.words == "scikit-learn's digits, scaled to 28x28 (1,437 images)"
    assert len(found.train_images) == 1437 and len(found.held_out_images) == 360
    np.testing.assert_array_equal(read({}).train_images, found.train_images)


def test_a_file_that_was_damaged_on_its_way_is_refused_on_the_rank(tmp_path):
    (tmp_path / "mnist.npz").write_bytes(npz())
    inputs = find(str(tmp_path / "mnist.npz"))
    inputs["data/mnist.npz"] = inputs["data/mnist.npz"][:-50]
    assert "data/mnist.npz (sha256" in refused(lambda: read(inputs))
