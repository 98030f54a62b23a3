"""TensorFlow's import without what Keras takes along whenever it is there: scikit-learn and pandas, a third of it.

Both work all the same. Keras' wrappers for scikit-learn are imported when somebody asks for them. pandas is needed only
to tell its tables from other arrays, and there are none before somebody else has imported it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

WRAPPERS = ("keras.wrappers", "keras._tf_keras.keras.wrappers")
TABLES = ("DataFrame", "Series")


class _Late:
    """Finds modules whose code runs when somebody first asks them for something."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in WRAPPERS:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = importlib.util.LazyLoader(spec.loader)
        return spec


class _Instances(type):
    def __instancecheck__(cls, value: object) -> bool:
        pandas = sys.modules.get("pandas")
        return pandas is not None and isinstance(value, getattr(pandas, cls.__name__))


@contextlib.contextmanager
def lean() -> Iterator[None]:
    """Import TensorFlow and Keras in this block. Another thread should not import pandas meanwhile."""
    finder = _Late()
    sys.meta_path.insert(0, finder)
    standing_in = ModuleType("pandas")
    standing_in.__dict__.update({name: _Instances(name, (), {}) for name in TABLES})
    sys.modules.setdefault("pandas", standing_in)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        if sys.modules.get("pandas") is standing_in:
            del sys.modules["pandas"]
