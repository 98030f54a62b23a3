"""Imports of our kernels at their start, while the page is loading, so that the first cell needn't wait. Without a
session, its `%%ranks` tells what is missing."""

from __future__ import annotations

from typing import Any

from workshop.notebook import lab, ranks, session

__all__ = ["lab", "load_ipython_extension", "session"]


def load_ipython_extension(shell: Any) -> None:
    """Called by IPython."""
    shell.register_magics(ranks.UnattachedMagics)
