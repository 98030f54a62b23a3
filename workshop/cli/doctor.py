"""Does this machine have what the workshop needs? Each check is ok, or says the fix in one sentence."""

from __future__ import annotations

import json
import os
import platform
import resource
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace
from importlib.util import find_spec
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from workshop import registry
from workshop.core import config, environment, extras, processes, topology, words
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.memory import Gauge, size
from workshop.core.placement import Host, Placement
from workshop.extension import Check, load
from workshop.mpi import horovod, openmpi, system
from workshop.sessions.launchers import ssh as sites
from workshop.sessions.supervisor import check_port
from workshop.store.store import Store
from workshop.web import address

GIB = 2**30
MPI_SECONDS = 12.0  # 2 ranks start in 1 to 2 s on an idle machine
HOROVOD_SECONDS = 12.0
SHARED_MEMORY = 64 << 20  # bytes: what Docker gives, and just enough for a few ranks
PORT = 8501  # where `workshop up` puts the dashboard
TAG = "WORKSHOP_DOCTOR_TAG"  # marks the processes that a check starts

# Rank 0 says what the world is and what the ranks' numbers, counted from 1, sum up to.
SUM = """
import json
from mpi4py import MPI
world = MPI.COMM_WORLD
total = world.reduce(world.rank + 1)
if world.rank == 0:
    library = MPI.Get_library_version().splitlines()[0].split(",")[0]
    print(json.dumps({"size": world.size, "sum": total, "library": library}))
"""


def checks(port: int = PORT) -> list[Check]:
    """Look at everything; takes a few seconds, and never more than about 15. Nothing is left running."""
    looks: list[Callable[[], Check]] = [
        _python, _cores, _limits, _memory, _shared_memory, _variables, _compiler, _mpi,
        _system_mpi, _training, _horovod, _state_folder, _store, lambda: _port(port),
        *map(load, registry.checks()),
    ]  # fmt: skip
    with ThreadPoolExecutor(len(looks)) as pool:
        return list(pool.map(lambda look: look(), looks))


def hosts(session_hosts: Sequence[Mapping[str, Any]]) -> list[Check]:
    """Look at hosts (`name`, `slots`) as a session on them would. Raises BadInput where that can't even be tried."""
    failures = sites.trial(sites.options([Host.model_validate(host) for host in session_hosts]))
    checks = []
    for name in (host["name"] for host in session_hosts):
        words = "this host" if sites.is_here(name) else "ranks of this host can talk to it"
        problems = [Check(name, False, "", problem) for problem in failures if problem.startswith(f"{name} ")]
        checks += problems or [Check(name, True, words)]
    return checks


def render(checks: Sequence[Check], console: Console) -> None:
    """Print the checks as a table, and their result."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for check in checks:
        mark = Text("ok", "green") if check.ok else Text("fix", "bold red") if check.needed else Text("note", "yellow")
        details = Text(check.detail)
        if check.fix:
            details.append(f"{chr(10) if check.detail else ''}{check.fix}", "bold")
        table.add_row(mark, check.name, details)
    console.print(table)
    lacking = [check.name for check in checks if not check.ok and check.needed]
    console.print(f"To fix: {', '.join(lacking)}." if lacking else "All that is needed is there.")


def as_json(checks: Sequence[Check]) -> dict[str, Any]:
    """The checks as one document; `ok` says whether all that is needed is there."""
    return {"ok": all(check.ok for check in checks if check.needed), "checks": [asdict(check) for check in checks]}


def _python() -> Check:
    system, machine = platform.system(), platform.machine()
    fits = system == "Linux" and machine in ("x86_64", "aarch64")
    fix = "" if fits else "Use Linux on x86-64 or 64-bit ARM: Open MPI comes built for nothing else here."
    return Check("Python", fits, f"Python {platform.python_version()} on {system} {machine}", fix)


def _cores() -> Check:
    machine = topology.machine()
    cores, units = topology.allowed_cores(machine), len(os.sched_getaffinity(0))
    all_cores = len({unit["core"] for unit in machine["units"]})
    detail = f"{cores} of {all_cores}, {units} processing units, {machine['model']}"
    fix = "" if cores > 1 else "Use a machine with 2 cores or more: on a single one ranks only take turns."
    if cores < all_cores:
        fix = f"Allow this shell all cores (taskset, the container, the batch job): it may use {cores} of {all_cores}."
    return Check("Cores", not fix, detail, fix, needed=False)


def _limits() -> Check:
    limits = [
        f"{words} {'unlimited' if limit == resource.RLIM_INFINITY else limit}"
        for words, kind in (("open files", resource.RLIMIT_NOFILE), ("processes", resource.RLIMIT_NPROC))
        for limit in (resource.getrlimit(kind)[1],)
    ]
    fix = environment.too_few_files()
    return Check("Limits", not fix, ", ".join(limits), fix)


def _variables() -> Check:
    """The variables around us that sessions leave out, except those that our JupyterLab has set, and those that change
    how ranks run."""
    ours = openmpi.environment() | openmpi.WITHOUT
    left_out = [name for name in environment.left_out() if os.environ[name] != ours.get(name)]
    changing = environment.changing()
    details = [f"ranks run with {words.listed(changing)}"] if changing else []
    details += [f"sessions leave out {words.listed(left_out)}"] if left_out else []
    fix = "Give ranks a variable that you want them to have by --env NAME=VALUE." if left_out else ""
    return Check("Variables", not fix, "; ".join(details) or "none changes how sessions run", fix, needed=False)


def _memory() -> Check:
    memory = Gauge().tightest()
    whose = ", the limit of this container or job" if memory.group else ""
    detail = f"{size(memory.available)} of {size(memory.total)} available{whose}"
    fix = "" if memory.available >= 2 * GIB else "Free some memory: a session with the dashboard needs about 2 GiB."
    return Check("Memory", not fix, detail, fix)


def _shared_memory() -> Check:
    if fault := environment.no_shared_memory():
        return Check("Shared memory", False, "", fault, needed=False)
    free = shutil.disk_usage(environment.SHARED_MEMORY).free
    detail = f"{free / GIB:.2f} GiB free in /dev/shm"
    fix = "" if free >= SHARED_MEMORY else "Empty /dev/shm or make it larger (in a container: --shm-size=1g)."
    return Check("Shared memory", not fix, detail, fix)


def _compiler() -> Check:
    lacking = [program for program in ("gcc", "g++", "make") if shutil.which(program) is None]
    if not lacking:
        return Check("Compiler", True, "gcc, g++ and make")
    fix = "Install gcc, g++ and make (apt-get install gcc g++ make): Horovod is built with them."
    return Check(
        "Compiler", False, f"{', '.join(lacking)} not found", fix, needed=_trains() and horovod.library() is None
    )


def _mpi() -> Check:
    advice = "Install the environment again (make up); the words above are mpirun's own."
    fix = "Unset MPI4PY_LIBMPI and LD_LIBRARY_PATH: mpirun and mpi4py's library must be of the same MPI."
    return _two_ranks("MPI", openmpi, advice, fix)


def _system_mpi() -> Check:
    """The centre's own MPI, where there is one: its library, ABI and launcher, and whether they fit."""
    name, fix = "System MPI", "Name another MPI for --mpi system, or load its module; the words above are its own."
    try:
        if not (system.named() or system.on_path()):
            return Check(name, True, "none on PATH, and none named; sessions have their own", needed=False)
        detail = system.describe()
        if system.system_mpi().family == "srun":
            detail = f"{system.version()}, {detail}; srun starts ranks in an allocation of Slurm"
            return Check(name, True, detail, needed=False)
    except BadInput as refused:
        return Check(name, False, "", str(refused), needed=False)
    tried = _two_ranks(name, system, fix, fix)
    return replace(tried, detail=f"{tried.detail}; {detail}", needed=False)


def _two_ranks(name: str, module: Any, refused_fix: str, lone_fix: str) -> Check:
    """Start two ranks with an MPI. `refused_fix` and `lone_fix` are the fixes of what its launcher says, and of ranks
    that don't find each other."""
    placement = Placement(ranks=2)
    cores = topology.allowed_cores(topology.machine())
    try:
        command = [module.launcher(), "-n", "2", *module.arguments(placement, cores), sys.executable, "-P", "-c", SUM]
    except BadInput as missing:
        return Check(name, False, "", str(missing))
    began = time.monotonic()
    variables = placement.rank_environment() | module.environment() | module.alone()
    code, output, errors = _run(command, MPI_SECONDS, variables)
    if code is None:
        fix = "See what else keeps the machine busy, then try again."
        return Check(name, False, f"2 ranks did not answer within {MPI_SECONDS:.0f} s", fix)
    try:
        answer = json.loads(output)
    except ValueError:
        words = module.refusal(f"{output}\n{errors}") or f"exit code {code}"
        return Check(name, False, words, refused_fix)
    if (answer["size"], answer["sum"]) != (2, 3):
        return Check(name, False, f"2 ranks found themselves in a world of {answer['size']}", lone_fix)
    return Check(name, True, f"2 ranks started and summed in {time.monotonic() - began:.1f} s ({answer['library']})")


def _training() -> Check:
    fix = extras.lacks("Training", extras.TRAINING)
    detail = "" if fix else f"{words.listed([*extras.LIBRARIES[extras.TRAINING].values()])} are installed"
    return Check("Training", not fix, detail, fix, needed=False)


def _trains() -> bool:
    return find_spec("tensorflow") is not None


def _horovod() -> Check:
    if not _trains():
        return Check("Horovod", False, "TensorFlow is not installed, and Horovod is of no use without it", needed=False)
    fix = "Build it: workshop horovod install, with gcc, g++ and make installed."
    build = horovod.build()
    if build.state != "built":
        return Check("Horovod", False, str(build), "" if build.state == "running" else fix, needed=False)
    try:
        if fault := horovod.fault(HOROVOD_SECONDS):
            return Check("Horovod", False, fault, fix)
    except WorkshopError as error:
        return Check("Horovod", False, str(error), "Try once more.")
    return Check("Horovod", True, "built for TensorFlow and MPI")


def _state_folder() -> Check:
    try:
        folder = config.home()
    except BadInput as refused:
        return Check("State folder", False, "", str(refused))
    free = shutil.disk_usage(folder).free
    fix = "" if free >= GIB else f"Free some space on the disk of {folder}, or set WORKSHOP_HOME to another one."
    return Check("State folder", not fix, f"{folder}, {free / GIB:.0f} GiB free", fix)


def _store() -> Check:
    try:
        with Store.open() as store:
            return Check("Store", True, store.database.where)
    except WorkshopError as refused:
        return Check("Store", False, "", str(refused))


def _port(port: int) -> Check:
    """The port of the dashboard that is up, or else the one that `workshop up` takes."""
    with suppress(WorkshopError), Store.open() as store:
        if dashboard := address.dashboard(store):
            return Check("Port", True, f"the dashboard is up at {dashboard}")
    try:
        check_port("127.0.0.1", port)
    except BadInput as refused:
        return Check("Port", False, "", f"{refused} `workshop up --port N` takes another one.")
    return Check("Port", True, f"{port} is free for the dashboard")


def _run(command: list[str], seconds: float, variables: dict[str, str]) -> tuple[int | None, str, str]:
    """Run a program with a time limit: exit code (None: it took too long), output, errors. Leaves no process behind."""
    tag = secrets.token_hex(8)
    variables = environment.own_environment() | variables | {TAG: tag}
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=variables,
        cwd=environment.own_folder(),
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=seconds)
            return process.returncode, output, errors
        except subprocess.TimeoutExpired:
            return None, "", ""
        finally:
            if process.poll() is None:
                processes.end_all(TAG, tag, seconds=1.0)
