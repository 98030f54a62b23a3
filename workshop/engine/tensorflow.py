"""TensorFlow on a rank, with the threads that the placement gave it.

Keras imports scikit-learn and pandas wherever they are installed, which is a third of the time of its import. `lean`
leaves both out. Keras' wrappers for scikit-learn are imported when somebody asks for them. Keras needs pandas only to
tell its tables from other arrays, and there are no tables before somebody else has imported pandas.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

WRAPPERS = ("keras.wrappers", "keras._tf_keras.keras.wrappers")
WRAPPED = "keras.src.wrappers.sklearn_wrapper"
TABLES = ("DataFrame", "Series")


class _Late(Loader):
    """Makes modules that import their contents on first use. TensorFlow reads `__file__` of every module, which would
    load Python's own lazy modules at once."""

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(name, cls()) if name in WRAPPERS else None

    def exec_module(self, module: ModuleType) -> None:
        def ask(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return getattr(importlib.import_module(WRAPPED), name)

        module.__dict__["__getattr__"] = ask


class _Instances(type):
    def __instancecheck__(cls, value: object) -> bool:
        pandas = sys.modules.get("pandas")
        return pandas is not None and isinstance(value, getattr(pandas, cls.__name__))


@contextlib.contextmanager
def lean() -> Iterator[None]:
    """Import TensorFlow and Keras in this block. Another thread should not import pandas meanwhile."""
    sys.meta_path.insert(0, _Late)
    standing_in = ModuleType("pandas")
    standing_in.__dict__.update({name: _Instances(name, (), {}) for name in TABLES})
    sys.modules.setdefault("pandas", standing_in)
    try:
        yield
    finally:
        sys.meta_path.remove(_Late)
        if sys.modules.get("pandas") is standing_in:
            del sys.modules["pandas"]


INTRA, INTER = "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"


def tensorflow() -> Any:
    """Import TensorFlow, which has no types, and set its threads from the placement's variables. The first operation of
    a process fixes them, so they are set here."""
    os.environ.update(KERAS_BACKEND="tensorflow", TF_USE_LEGACY_KERAS="0")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with lean():
        import tensorflow as tf

    threading = tf.config.threading
    setters = ((INTRA, threading.set_intra_op_parallelism_threads), (INTER, threading.set_inter_op_parallelism_threads))
    for variable, put in setters:
        if (threads := os.environ.get(variable, "")).isdigit():
            try:
                put(int(threads))
            except RuntimeError:
                break  # an earlier run of this process has set the same: the placement is the engines' own
    return tf


def seed_training(seed: int, rank: int = 0) -> Any:
    """Seed the random numbers of a training, forget an earlier run of this process, and return TensorFlow. With its
    `rank`, each rank draws weights of its own, as processes do that don't know of each other, until a broadcast makes
    them equal."""
    tf = tensorflow()
    tf.keras.utils.clear_session()
    tf.keras.utils.set_random_seed((seed + 1_000_003 * rank) % 2**31)
    return tf
