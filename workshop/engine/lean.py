"""TensorFlow's import without what Keras takes along whenever it is there: scikit-learn and pandas, a third of it.

Both work all the same. Keras' wrappers for scikit-learn are imported when somebody asks for them. pandas is needed only
to tell its tables from other arrays, and there are none before somebody else has imported it.
"""

from __future__ import annotations

import contextlib
import importlib
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
    """Makes modules that import what they are asked for. TensorFlow looks for `__file__` in all that is imported, so
    Python's own lazy modules would soon be full ones."""

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
