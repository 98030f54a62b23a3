"""Where MNIST may be without anybody saying where: Keras's cache, and the network, from which it comes into that cache.
A file from the network is checked by its checksum. `at` reads the files that params name.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import secrets
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from workshop.core import config, yaml_files
from workshop.core.environment import KERAS_DATA

LARGEST_FILE = 64 << 20  # bytes, what the store takes as an artifact
NPZ = "mnist.npz"
REMEMBERED = 600.0  # seconds for which a failed download is not tried again: a class may have no network
SILENCE = 5.0  # seconds without an answer or a byte


@dataclass(frozen=True)
class File:
    """A file's bytes, and how messages name it."""

    name: str
    data: bytes


def at(path: str) -> File:
    """The file of a path. Raises BadInput where it can't be read, and for one that is too large."""
    too_large = f"{path} has over {LARGEST_FILE >> 20} MB, more than can be taken."
    return File(path, yaml_files.read_bytes(Path(path).expanduser(), LARGEST_FILE, too_large))


@dataclass(frozen=True)
class Remote:
    """A file's address and its checksum."""

    address: str
    sha256: str


# Keras's own: https://github.com/keras-team/keras/blob/master/keras/src/datasets/mnist.py
MNIST = Remote(
    "https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz",
    "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1",
)


class NotThere(Exception):
    """MNIST can't be downloaded; the text says why."""


def cached() -> Path:
    """The file that `keras.datasets.mnist.load_data()` downloads."""
    home = Path(os.environ.get(KERAS_DATA) or os.environ.get("KERAS_HOME") or "~/.keras").expanduser()
    return home / "datasets" / NPZ


def fetch(remote: Remote) -> bytes:
    """The file's bytes, with the right checksum; through a proxy where the environment names one. Raises OSError or
    HTTPException."""
    # An opener of its own knows the proxies and certificates that the environment names now.
    with urllib.request.build_opener().open(remote.address, timeout=SILENCE) as answer:
        data = bytes(answer.read())
    if (checksum := hashlib.sha256(data).hexdigest()) != remote.sha256:
        raise OSError(f"what came has sha256 {checksum[:16]}, not {remote.sha256[:16]}")
    return data


def download(remote: Remote) -> File:
    """The remote file, then kept in Keras's cache. Raises NotThere; a failure is remembered for ten minutes."""
    host = urlsplit(remote.address).hostname
    if os.environ.get("WORKSHOP_OFFLINE", "0") not in ("", "0"):
        raise NotThere(f"nothing is downloaded from {host} while WORKSHOP_OFFLINE is set")
    path, failure = cached(), config.cache_folder("mnist") / "failed"
    if failure.exists() and 0 <= time.time() - failure.stat().st_mtime < REMEMBERED:
        why = failure.read_text()
        raise NotThere(f"the download from {host} failed ({why}), and is not tried again for ten minutes")
    try:
        data = fetch(remote)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{NPZ}.{secrets.token_hex(4)}")  # others see the whole file or none
        part.write_bytes(data)
        part.replace(path)
    except (OSError, http.client.HTTPException) as error:
        failure.write_text(str(error))
        raise NotThere(f"the download from {host} failed ({error})") from error
    failure.unlink(missing_ok=True)
    return File(str(path), data)
