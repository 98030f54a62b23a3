"""Teaching distributed training on real MPI sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workshop.notebook import attach

__all__ = ["attach"]


def __getattr__(name: str) -> Any:
    """`workshop.attach`, for notebooks: imported when somebody asks for it, since ranks and commands don't."""
    if name == "attach":
        from workshop.notebook import attach

        return attach
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
