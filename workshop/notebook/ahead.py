"""What a kernel of ours has as it starts, while its page is loading: the modules that notebooks need, imported, so that
the first cell need not wait, and a `%%ranks` that tells what is missing as long as no session is attached."""

from __future__ import annotations

from typing import Any

from workshop.notebook import attaching, lab, magics

__all__ = ["attaching", "lab", "load_ipython_extension"]


def load_ipython_extension(shell: Any) -> None:
    """Called by IPython."""
    shell.register_magics(magics.UnattachedMagics)
