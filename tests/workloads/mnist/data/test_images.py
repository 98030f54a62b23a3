"""From a path to images: what is found, what it is called, and what is refused with which words."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tests.workloads.mnist.data.made import idx, npz, packed, pair, some
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


@pytest.mark.parametrize("mark", ["-", "."])
@pytest.mark.parametrize("gz", [True, False])
def test_a_folder_with_both_pairs(tmp_path, mark, gz):
    pair(tmp_path, "train", 40, mark=mark, gz=gz)
    pair(tmp_path, "t10k", 9, mark=mark, gz=gz)
    inputs = find(str(tmp_path))
    ending = ".gz" if gz else ""
    assert sorted(inputs) == sorted(
        ["data/words"]
        + [f"data/{part}-{kind}-ubyte{ending}" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")]
    )
    assert same(read(inputs), some(40), some(9))
    assert read(inputs).words == "the set of IDX files that was given (40 images)"


def test_an_npz_file(tmp_path):
    path = tmp_path / "mine.npz"
    path.write_bytes(npz(30, 12))
    inputs = find(str(path))
    assert set(inputs) == {"data/mnist.npz", "data/words"} and inputs["data/mnist.npz"] == path.read_bytes()
    assert same(read(inputs), some(30), some(12, 1))
    assert read(inputs).words == "the npz file that was given (30 images)"
    assert read(inputs).notice == ""


def test_a_folder_with_keras_npz_file(tmp_path):
    (tmp_path / "mnist.npz").write_bytes(npz(30, 12))
    assert same(given(tmp_path), some(30), some(12, 1))


def test_labels_of_another_type_and_arrays_in_another_order(tmp_path):
    (images, labels), path = some(30), tmp_path / "mine.npz"
    path.write_bytes(npz(30, 12, x_train=np.asfortranarray(images), y_train=labels.astype(">i4")))
    assert same(given(path), some(30), some(12, 1))


@pytest.mark.parametrize("part", ["t10k", "train"])
def test_a_pair_alone_is_divided_always_in_the_same_way(tmp_path, part):
    pair(tmp_path, part, 100)
    found = given(tmp_path)
    assert len(found.train_images) == len(found.train_labels) == 84
    assert len(found.held_out_images) == len(found.held_out_labels) == 16
    assert (
        found.words
        == f"the {part} pair of IDX files that was given, divided into 84 images to train on and 16 held out"
    )
    labels = {image.tobytes(): label for image, label in zip(*some(100), strict=True)}
    divided = [*zip(found.train_images, found.train_labels, strict=True)]
    divided += zip(found.held_out_images, found.held_out_labels, strict=True)
    assert {image.tobytes(): label for image, label in divided} == labels
    again = given(tmp_path)
    np.testing.assert_array_equal(found.train_images, again.train_images)


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("gz", [True, False])
def test_one_file_of_a_pair_brings_the_other(tmp_path, kind, gz):
    path = pair(tmp_path, "t10k", 60, gz=gz)[kind]
    pair(tmp_path, "train", 12)
    inputs = find(str(path))
    ending = ".gz" if gz else ""
    assert set(inputs) - {"data/words"} == {
        f"data/t10k-{name}-ubyte{ending}" for name in ("images-idx3", "labels-idx1")
    }
    found = read(inputs)
    assert len(found.train_images) + len(found.held_out_images) == 60
    assert found.words.startswith("the t10k pair of IDX files that was given")


def test_one_file_of_a_pair_with_a_name_of_its_own(tmp_path):
    images, labels = pair(tmp_path, "train", 60)
    images = images.rename(tmp_path / "letters-images-idx3-ubyte.gz")
    labels.rename(tmp_path / "letters-labels.idx1-ubyte.gz")
    assert len(given(images).train_images) == 50


def test_paths_may_be_relative_or_begin_at_home(tmp_path, monkeypatch):
    (tmp_path / "mine.npz").write_bytes(npz())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert given("mine.npz").words == given("~/mine.npz").words == given("./mine.npz").words


def test_compressed_files_without_the_ending_and_plain_ones_with_it(tmp_path):
    images, labels = pair(tmp_path, "train", 12)
    images.rename(images.with_suffix(""))
    labels.write_bytes(idx(some(12)[1]))
    inputs = find(str(tmp_path))
    assert {"data/train-images-idx3-ubyte.gz", "data/train-labels-idx1-ubyte"} < set(inputs)
    assert len(read(inputs).train_images) == 10


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("no.npz", "no.npz isn't there; give auto, mnist, digits, or the path of MNIST's files"),
        ("no", "no isn't there"),
        ("no-images-idx3-ubyte", "isn't there"),
        ("letter.txt", "letter.txt is called neither like an npz file nor like MNIST's IDX files"),
        ("letter.txt/more", "can't be read (Not a directory)"),
        ("letter.txt/more.npz", "can't be read (Not a directory)"),
        ("x" * 5000, "can't be read (File name too long)"),
        ("~nobody-of-this-name/mnist", "is no path"),
        ("null\0.npz", "null"),
        ("pipe.npz", "is no ordinary file"),
        ("empty.npz", "(sha256 e3b0c44298fc1c14) is empty"),
        ("large.npz", "over 64 MB"),
    ],
)
def test_paths_that_cannot_be_taken(tmp_path, monkeypatch, path, says):
    monkeypatch.chdir(tmp_path)
    Path("letter.txt").write_text("This is a letter.")
    Path("empty.npz").touch()
    os.mkfifo("pipe.npz")
    with Path("large.npz").open("wb") as file:
        file.truncate((64 << 20) + 1)
    assert says in refused(lambda: find(path))


def test_a_folder_without_mnist_says_what_was_looked_for(tmp_path):
    (tmp_path / "cat.png").touch()
    sentence = refused(lambda: find(str(tmp_path)))
    assert f"The folder {tmp_path} has no MNIST" in sentence
    for name in ("train-images-idx3-ubyte", "t10k-labels-idx1-ubyte", ".gz", "mnist.npz"):
        assert name in sentence


def test_a_folder_with_half_a_pair(tmp_path):
    pair(tmp_path, "train", 12)
    images, labels = pair(tmp_path, "t10k", 12)
    labels.unlink()
    sentence = refused(lambda: find(str(tmp_path)))
    assert "has t10k-images-idx3-ubyte.gz but no labels for it; put t10k-labels-idx1-ubyte.gz beside it" in sentence
    assert "has no labels beside it" in refused(lambda: find(str(images)))


def test_a_folder_that_cannot_be_read(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert "can't be read" in refused(lambda: find(str(tmp_path / "loop" / "mnist.npz")))


IMAGES, LABELS = some(12)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (
            {"x_train": IMAGES.astype(np.float32)},
            "float32 [12, 28, 28] as x_train; MNIST's images are uint8 [n, 28, 28]",
        ),
        ({"x_train": IMAGES[:, :27]}, "uint8 [12, 27, 28] as x_train"),
        ({"x_train": IMAGES[..., None]}, "uint8 [12, 28, 28, 1] as x_train"),
        ({"x_test": IMAGES[:0], "y_test": LABELS[:0]}, "uint8 [0, 28, 28] as x_test"),
        ({"x_test": np.uint8(3)}, "uint8 [] as x_test"),
        ({"y_train": LABELS[:11]}, "11 labels as y_train for 12 images; every image needs one label"),
        ({"y_test": np.append(LABELS, 1)}, "13 labels as y_test for 12 images"),
        ({"y_train": LABELS.astype(float)}, "float64 [12] as y_train; MNIST's labels are whole numbers [n]"),
        ({"y_train": LABELS[:, None]}, "uint8 [12, 1] as y_train"),
        ({"y_train": np.where(np.arange(12) == 5, 10, LABELS)}, "the label 10 as y_train; labels are 0 to 9"),
        ({"y_train": np.where(np.arange(12) == 5, -1, LABELS.astype(int))}, "the label -1 as y_train"),
        ({"y_test": None}, "has no y_test; give an npz file with x_train, y_train, x_test, y_test"),
        ({"x_test": np.array([{}], object)}, "Python objects, which aren't loaded"),
    ],
)
def test_npz_files_that_hold_something_else(tmp_path, other, says):
    path = tmp_path / "mine.npz"
    path.write_bytes(npz(12, 12, **other))
    sentence = refused(lambda: find(str(path)))
    assert says in sentence
    assert names(sentence, path, path.read_bytes())


@pytest.mark.parametrize(
    ("kind", "array", "says"),
    [
        (0, IMAGES[:, :, :27], "holds uint8 [12, 28, 27]; MNIST's images are uint8 [n, 28, 28]"),
        (0, LABELS, "holds uint8 [12]"),
        (1, LABELS[:7], "holds 7 labels for 12 images; every image needs one label"),
        (1, IMAGES, "holds uint8 [12, 28, 28]; MNIST's labels are whole numbers [n]"),
        (1, LABELS + np.uint8(20), "; labels are 0 to 9"),
    ],
)
def test_idx_files_that_hold_something_else(tmp_path, kind, array, says):
    path = pair(tmp_path, "train", 12)[kind]
    path.write_bytes(packed(idx(np.ascontiguousarray(array))))
    sentence = refused(lambda: find(str(tmp_path)))
    assert says in sentence
    assert names(sentence, path, path.read_bytes())


@pytest.mark.parametrize("kind", [0, 1])
def test_a_damaged_file_is_named_with_its_checksum(tmp_path, kind):
    path = pair(tmp_path, "t10k", 12)[kind]
    pair(tmp_path, "train", 12)
    whole = path.read_bytes()
    for data in (whole[:-4], whole[: len(whole) // 2], whole[:-6] + b"\0" + whole[-5:], b"not found"):
        path.write_bytes(data)
        assert names(refused(lambda: find(str(tmp_path))), path, data)
        assert names(refused(lambda: find(str(path))), path, data)
    path.write_bytes(whole)
    assert len(given(tmp_path).train_images) == 12


def test_a_pair_too_small_to_be_divided(tmp_path):
    pair(tmp_path, "train", 5)
    assert "holds 5 images; at least 6 are needed" in refused(lambda: find(str(tmp_path)))


def test_digits_need_no_files():
    assert set(find("digits")) == {"data/words"}
    found = given("digits")
    assert found.words == "scikit-learn's digits, scaled to 28x28 (1,437 images)"
    assert len(found.train_images) == 1437 and len(found.held_out_images) == 360
    np.testing.assert_array_equal(read({}).train_images, found.train_images)


def test_other_inputs_of_a_run_are_not_looked_at():
    assert read({"model": b"something", **find("digits")}).words == given("digits").words


def test_a_file_that_was_damaged_on_its_way_is_refused_on_the_rank(tmp_path):
    (tmp_path / "mnist.npz").write_bytes(npz())
    inputs = find(str(tmp_path))
    inputs["data/mnist.npz"] = inputs["data/mnist.npz"][:-50]
    assert "data/mnist.npz (sha256" in refused(lambda: read(inputs))
