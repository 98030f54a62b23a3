"""Teaching distributed training on real MPI sessions."""

from __future__ import annotations

from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workshop.notebook.comparison import compare
    from workshop.notebook.lab import lab
    from workshop.notebook.placement_map import place
    from workshop.notebook.session import attach

__all__ = ["attach", "compare", "lab", "place"]

# What notebooks use: imported when somebody asks for it, since ranks and commands don't.
_NOTEBOOKS = {"attach": "session", "compare": "comparison", "lab": "lab", "place": "placement_map"}


def __getattr__(name: str) -> Any:
    if name == "failures":  # `from workshop import failures` stands in the labs and in learners' copies of them
        return import_module("workshop.report.failures")
    if name == "__version__":
        return metadata.version("distributed-training-workshop")
    if name in _NOTEBOOKS:
        return getattr(import_module(f"workshop.notebook.{_NOTEBOOKS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
