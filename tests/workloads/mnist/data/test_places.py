"""Where MNIST is looked for without anybody saying where, and in which order."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workloads.mnist.data.made import npz
from tests.workloads.mnist.data.refusals import names
from tests.workloads.mnist.data.serving import serve
from workshop.core import config
from workshop.core.errors import BadInput
from workshop.workloads.mnist.data.images import Images, find, read
from workshop.workloads.mnist.data.places import Remote

# Which place the images come from is told by their number.
GIVEN, NAMED, KERAS, REMOTE, DIGITS = 36, 37, 38, 39, 1437


@pytest.fixture
def server(workshop_home, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("WORKSHOP_OFFLINE")
    with serve(npz(REMOTE)) as serving:
        yield serving


@pytest.fixture
def look(server) -> Callable[..., Images]:
    """Find and read, with the test's server in place of Keras's."""
    checksum = hashlib.sha256(server.data).hexdigest()
    return lambda data="auto": read(find(data, Remote(server.address, checksum)))


@pytest.fixture
def keras(workshop_home) -> Path:
    """Keras's cache, with a file."""
    path = cached()
    path.parent.mkdir(parents=True)
    path.write_bytes(npz(KERAS))
    return path


def cached() -> Path:
    return Path(os.environ["KERAS_HOME"]) / "datasets" / "mnist.npz"


def count(images: Images) -> int:
    return len(images.train_images)


def refused(look: Callable[..., Images], data: str = "mnist") -> str:
    with pytest.raises(BadInput) as error:
        look(data)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_order_of_places(look, server, keras, tmp_path, monkeypatch):
    (tmp_path / "given.npz").write_bytes(npz(GIVEN))
    (tmp_path / "named.npz").write_bytes(npz(NAMED))
    monkeypatch.setenv("WORKSHOP_DATA", str(tmp_path / "named.npz"))
    assert count(look(str(tmp_path / "given.npz"))) == GIVEN
    assert count(look("digits")) == DIGITS
    for data in ("auto", "mnist"):
        assert count(look(data)) == NAMED
    monkeypatch.delenv("WORKSHOP_DATA")
    assert count(look()) == KERAS
    assert not server.asked
    keras.unlink()
    assert look().words == f"MNIST, downloaded ({REMOTE} images)"
    assert look("mnist").words == f"MNIST from Keras's cache ({REMOTE} images)"
    assert len(server.asked) == 1
    keras.unlink()
    monkeypatch.setenv("WORKSHOP_OFFLINE", "1")
    assert count(look()) == DIGITS
    assert len(server.asked) == 1


@pytest.mark.parametrize("data", ["auto", "mnist", "given"])
def test_a_damaged_file_that_somebody_named_is_refused(look, keras, tmp_path, monkeypatch, data):
    path = tmp_path / "mine.npz"
    path.write_bytes(npz(NAMED)[:-100])
    monkeypatch.setenv("WORKSHOP_DATA", str(path))
    sentence = refused(look, str(path) if data == "given" else data)
    assert names(sentence, path, path.read_bytes())


def test_a_damaged_cache_of_keras_is_refused(look, keras):
    damage = npz(KERAS)[:-100]
    keras.write_bytes(damage)
    assert names(refused(look, "auto"), keras, damage)
    assert keras.read_bytes() == damage


def test_another_file_from_the_network_is_refused_and_not_kept(look, server):
    server.data = npz(REMOTE + 1)
    assert count(look()) == DIGITS
    assert not cached().exists()
    assert "what came has sha256" in refused(look)


def test_a_failed_download_is_not_tried_again_for_ten_minutes(look, server):
    good, server.status = server.status, 503
    assert count(look()) == DIGITS
    server.status = good
    assert count(look()) == DIGITS
    sentence = refused(look)
    assert "the download from 127.0.0.1 failed (HTTP Error 503: Service Unavailable)" in sentence
    assert "is not tried again for ten minutes" in sentence
    assert len(server.asked) == 1
    failure = config.cache_folder("mnist") / "failed"
    for ago in (601, -100):  # a clock that was set back must not stop downloads for ever
        os.utime(failure, (time.time() - ago,) * 2)
        assert count(look()) == REMOTE
        assert not failure.exists()
        cached().unlink()
        failure.write_text("why")


@pytest.mark.parametrize(("value", "offline"), [("1", True), ("0", False)])
def test_offline_never_asks(look, server, monkeypatch, value, offline):
    monkeypatch.setenv("WORKSHOP_OFFLINE", value)
    assert count(look()) == (DIGITS if offline else REMOTE)
    assert bool(server.asked) != offline


def test_mnist_is_never_replaced_by_the_digits(look, server, monkeypatch):
    monkeypatch.setenv("WORKSHOP_OFFLINE", "1")
    sentence = refused(look)
    assert sentence.startswith("MNIST can't be had: Keras's cache has no ")
    for part in (os.environ["KERAS_HOME"], "127.0.0.1", "WORKSHOP_OFFLINE", "path"):
        assert part in sentence
