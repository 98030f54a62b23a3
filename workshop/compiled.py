"""Compile what a first visit would wait for: `python -m workshop.compiled`, as the last step of the installation.

That is k-means' kernels, into the state folder's cache, and the Python modules that the dashboard, ranks and JupyterLab
import, beside their sources. `python -m workshop.compiled training` does the same with the modules of training. All that
is installed would be 200 MB more, most of which nobody imports.
"""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module

from workshop import config

# Those that are compiled side by side, in processes of their own. What ends with a dot is a package with its modules.
FIRST = (
    ("workshop.engine.host", "workshop.workloads.kmeans.run", "ipyparallel.engine.app", "workshop.compiled:kernels"),
    (
        *("workshop.cli.main", "workshop.session.conductor", "ipyparallel.controller.app", "ipyparallel.engine.nanny"),
        *("workshop.web.", "workshop.figures.", "streamlit.starlette", "streamlit.web.bootstrap", "pyarrow", "pandas"),
        *("workshop.jupyter.", "ipykernel.kernelapp", "workshop.notebook."),
    ),
)
TRAINING = (("workshop.workloads.mnist.run", "workshop.workloads.sgan.run", "keras", "tensorflow"),)


def kernels() -> None:
    """Compile k-means' kernels for photos and for blobs as its form has them, as the ranks of a session find them."""
    import numpy as np

    from workshop.workloads.kmeans import KMeansParams
    from workshop.workloads.kmeans.shards import compile_for, kernel

    params = KMeansParams()
    for features in (3, params.features):
        compile_for(kernel(params.backend), np.zeros((1, features), params.dtype))


def compile_all(groups: Sequence[Sequence[str]]) -> list[str]:
    """Have each group compiled by a process of its own; returns the last words of those that failed."""
    # Without these variables, compiled modules are kept, and kernels are found again by sessions.
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    variables["NUMBA_CACHE_DIR"] = str(config.cache_folder("numba"))
    variables["TF_CPP_MIN_LOG_LEVEL"] = "3"
    started = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import sys; from workshop import compiled; compiled.import_all(sys.argv[1:])",
                *group,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=variables,
        )
        for group in groups
    ]
    said = [(process, process.communicate()[1].strip()) for process in started]
    return [
        words.splitlines()[-1] if words else "it said nothing" for process, words in said if process.returncode != 0
    ]


def import_all(names: Sequence[str]) -> None:
    """Import modules, and call functions that are given like `module:function`."""
    for name in names:
        module, _, function = name.partition(":")
        for found in _modules(module):
            import_module(found)
        if function:
            getattr(import_module(module), function)()


def _modules(name: str) -> Iterator[str]:
    if not name.endswith("."):
        yield name
        return
    package = import_module(name[:-1])
    for found in pkgutil.walk_packages(package.__path__, name):
        if not found.name.endswith("__main__"):
            yield found.name


if __name__ == "__main__":
    for failed in compile_all(TRAINING if sys.argv[1:] == ["training"] else FIRST):
        print(f"Something could not be compiled ahead, and will be when it is needed: {failed}", file=sys.stderr)
