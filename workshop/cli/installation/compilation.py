"""Compile what a first visit would wait for; as a program, the last step of the installation.

That is what workloads compile for their ranks (`Workload.compile`), into the state folder's cache, and the Python
modules that the dashboard, ranks and JupyterLab import, beside their sources. Those of training come later
(`training`). All modules that are installed would take 200 MB more, and most of them nobody imports.
"""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

from workshop.core import config
from workshop.core.parent_death import guarded
from workshop.registry import workloads

# A tenth of a core beside what wants it all; 19 would be next to nothing on a busy machine.
GENTLY = ("nice", "-n", "10")
# What ends with a dot is a package with its modules.
PAGES = (
    *("workshop.cli.main", "workshop.sessions.conductor", "ipyparallel.controller.app", "ipyparallel.engine.nanny"),
    *("workshop.web.", "workshop.web.pages.", "workshop.report.figures.", "streamlit.starlette"),
    *("streamlit.web.bootstrap", "pyarrow", "pandas"),
    *("workshop.notebook.jupyter.", "ipykernel.kernelapp", "workshop.notebook."),
)
PROGRAM = "import sys; from workshop.cli.installation import compilation; compilation.import_all(sys.argv[1:])"


def first() -> Sequence[Sequence[str]]:
    """Modules that the installation compiles, in groups that are compiled side by side."""
    ranks = ["workshop.engine.host", "ipyparallel.engine.app", *_modules_of_workloads(trains=False)]
    return [*ranks, *(entry.compile for entry in workloads().values() if entry.compile)], PAGES


def training() -> Sequence[Sequence[str]]:
    """The groups that are compiled later, for ranks that train."""
    return (["keras", "tensorflow", *_modules_of_workloads(trains=True)],)


def _modules_of_workloads(trains: bool) -> list[str]:
    return [entry.function.partition(":")[0] for entry in workloads().values() if entry.trains == trains]


def compile_all(groups: Sequence[Sequence[str]], begin: Sequence[str] = ()) -> list[str]:
    """Compile each group in a process whose command line begins with `begin`. Returns the last words of the processes
    that failed."""
    # Without the first of these, compiled modules are not kept; by the second, sessions find the kernels.
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    # A process that starts MPI without a launcher leaves 16 MiB of shared memory behind.
    variables |= {"MPI4PY_RC_INITIALIZE": "0"}
    variables |= {"NUMBA_CACHE_DIR": str(config.cache_folder("numba")), "TF_CPP_MIN_LOG_LEVEL": "3"}
    commands = [[*begin, sys.executable, "-P", "-c", PROGRAM, *group] for group in groups]
    with ThreadPoolExecutor(len(groups)) as pool:
        return list(filter(None, pool.map(lambda command: _compile(command, variables), commands)))


def _compile(command: list[str], variables: Mapping[str, str]) -> str | None:
    done = subprocess.run(
        guarded(command), stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", env=variables
    )
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no reason was told"])[-1]


def import_all(names: Sequence[str]) -> None:
    """Import modules, and call functions that are given like `module:function`."""
    for name in names:
        module, _, function = name.partition(":")
        for module_name in _modules(module):
            import_module(module_name)
        if function:
            getattr(import_module(module), function)()


def _modules(name: str) -> Iterator[str]:
    if not name.endswith("."):
        yield name
        return
    package = import_module(name[:-1])
    for module_info in pkgutil.walk_packages(package.__path__, name):
        if not module_info.name.endswith("__main__"):
            yield module_info.name


if __name__ == "__main__":
    failures = compile_all(first())
    for failed in failures:
        print(f"Something could not be compiled ahead, and will be when it is needed: {failed}", file=sys.stderr)
