"""The centre's own MPI: the mpirun or mpiexec on PATH, or the launcher that the centre's profile names, also srun.

The launcher is of Open MPI, MPICH or Intel MPI, whose module writes the options and reads the messages, or it is
Slurm's (`srun`). Ranks load the MPI's library by `MPI4PY_LIBMPI`; mpi4py has builds for two ABIs, `SONAMES`. Nobody
asks the mapper, which may be of any version: the rank map of a run is what its ranks report.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from workshop.core import centre, config, words
from workshop.core.environment import own_environment
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.mpi import hydra, intelmpi, mpich, openmpi, srun

NO_MAP = "No map: the mapper of the centre's own MPI is not asked; the map of a run is what its ranks report."
FORWARDS = True  # all that a session gives the launcher, the library's name above all
PROGRAMS = ("mpirun", "mpiexec")
ANSWER = 20  # seconds
MODULES: Mapping[str, Any] = {"openmpi": openmpi, "mpich": mpich, "intelmpi": intelmpi, "srun": srun}
_FAMILIES = {  # by what a launcher prints as its version
    "openmpi": re.compile(r"\((?:Open MPI|OpenRTE|PRRTE)\) (\d+)"),
    "mpich": re.compile(r"HYDRA build details:\s+Version:\s+(\d+)"),
    "intelmpi": re.compile(r"Intel\(R\) MPI Library.*Version (\d+)"),
}
ABIS = {"openmpi": "Open MPI", "mpich": "MPICH"}
SONAMES = {"openmpi": ("libmpi.so.40",), "mpich": ("libmpi.so.12", "libmpich.so.12")}
FOLDERS = ("lib", "lib64", "lib/release", f"lib/{os.uname().machine}-linux-gnu")  # of libraries, beside `bin`
OUTER = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")  # the number of ranks in an outer job
PROBE = """
import json, os, re, mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
maps = {line.split()[-1] for line in open("/proc/self/maps") if re.search(r"/libmpi[^/]*[.]so", line)}
words = re.split(r",| for |\\n", MPI.Get_library_version().strip("\\0\\n "))[0].replace("Version:", " ").split()
print(json.dumps([os.path.basename(MPI.__file__).split(".")[1], " ".join(words), sorted(maps)]))
"""
# What the launcher's own module says of all its versions.
_SHARED = ("SHARES", "exports", "assignments", "in_slurm", "death", "early_exit", "refuses", "refusal")


@dataclass(frozen=True)
class SystemMpi:
    """The launcher with the options that were named, and the library of the same MPI."""

    program: str
    options: list[str]
    family: str  # in `MODULES`
    library: Path
    abi: str  # in `ABIS`
    version: str  # in the library's own words
    before_5: bool  # whether it is an Open MPI whose launcher has other words than version 5's


def __getattr__(name: str) -> Any:
    if name not in _SHARED:
        raise AttributeError(name)
    return getattr(MODULES[system_mpi().family], name)


def named(part: Literal["launcher", "library"] = "launcher") -> str:
    """The launcher with its options, or the library, that a variable or the centre's profile names; "" if none does."""
    return os.environ.get(f"WORKSHOP_MPI_{part.upper()}") or centre.read_profile().mpi.get(part, "")


def system_mpi() -> SystemMpi:
    """The system's MPI. Raises BadInput where there is none, or several, or its parts don't fit together."""
    program, *options = _launcher()
    family, number = _kind(program)
    if family == "srun":
        srun.check(options)
    library = _library(program, family)
    abi, version_words = _abi(library)
    expected = "mpich" if family == "intelmpi" else family
    if expected in ABIS and abi != expected:
        raise _wrong(f"{program} is of {ABIS[expected]}, and {library} has the ABI of {ABIS[abi]}", "library")
    return SystemMpi(program, options, family, library, abi, version_words, family == "openmpi" and number < 5)


def launcher() -> str:
    """The launcher's path. Raises BadInput, also where this process is one of several ranks of an outer job."""
    for name in OUTER:
        if (size := os.environ.get(name, "")).isdecimal() and int(size) > 1:
            raise BadInput(
                f"This process is one of {size} ranks of an outer job ({name} is set), and each would start ranks of "
                f"its own; start the workshop outside of mpirun and srun, or unset {name} where it is left over."
            )
    return system_mpi().program


def version() -> str:
    """The library's version. Raises BadInput."""
    return system_mpi().version


def describe() -> str:
    """Its ABI, library and launcher in a few words. Raises BadInput."""
    chosen = system_mpi()
    started = shlex.join([chosen.program, *chosen.options])
    return f"ABI of {ABIS[chosen.abi]}, library {chosen.library}, launcher {started}"


def check_outside_slurm() -> None:
    """Raises BadInput where srun is the launcher: it starts ranks in an allocation only."""
    if system_mpi().family == "srun":
        raise BadInput("srun starts ranks in an allocation of Slurm; start the session with --slurm or inside of one.")


def arguments(placement: Placement, cores: int, machine: Mapping[str, Any] | None = None) -> list[str]:
    """The launcher's options for a placement, without the number of ranks; `cores` and `machine` are as for the
    launcher's own module. Raises BadInput for what it has no words for."""
    chosen = system_mpi()
    options = list(MODULES[chosen.family].arguments(placement, cores, machine))
    if chosen.before_5:
        options = [re.sub(r"\bpackage\b", "socket", word.replace(":HWTCPUS", "")) for word in options]
        options += ["--use-hwthread-cpus"] if placement.binding(cores) == "hwthread" else []
    return [*chosen.options, *options]


def environment(placement: Placement | None = None) -> dict[str, str]:
    """Variables for the launcher and its ranks: the centre's modules, and the library that ranks load. Raises
    BadInput."""
    chosen = system_mpi()
    variables = _modules() | _loads(chosen.library)
    if chosen.family == "intelmpi":
        return variables | {"I_MPI_JOB_ABORT_SIGNAL": str(hydra.CLEANED_UP)}
    return variables | (openmpi.environment(placement) if chosen.abi == "openmpi" else {})


def over_ssh(program: str, options: Sequence[str]) -> dict[str, str]:
    """Variables by which the launcher reaches other hosts with a program that has ssh's words, and these options."""
    chosen = system_mpi()
    if not chosen.before_5:
        return dict(MODULES[chosen.family].over_ssh(program, options))
    agent = {"agent": program, "args": " ".join(options), "no_tree_spawn": "1"}
    return {**openmpi.PATIENT, **{f"OMPI_MCA_plm_rsh_{name}": value for name, value in agent.items()}}


def alone() -> dict[str, str]:
    """Variables for ranks that are all on this machine: they use shared memory alone."""
    chosen = system_mpi()
    return {"OMPI_MCA_btl": "self,vader"} if chosen.before_5 else dict(MODULES[chosen.family].alone())


def _wrong(fault: str, part: str) -> BadInput:
    where = f"WORKSHOP_MPI_{part.upper()} or in the centre's profile (mpi: {part})"
    return BadInput(f"{fault}; name the {part} of the system's MPI in {where}.")


def _modules() -> dict[str, str]:
    return centre.loaded(centre.read_profile().modules)


def _path() -> str:
    return _modules().get("PATH") or os.environ.get("PATH", "")


def on_path() -> list[str]:
    """The launchers on PATH, after the centre's modules, without those of the MPIs that the workshop has installed."""
    ours = (Path(sys.prefix).resolve(), config.cache_folder("mpi").resolve())
    folders = [Path(name) for name in _path().split(os.pathsep) if name]
    others = [folder for folder in folders if not any(map(folder.resolve().is_relative_to, ours))]
    return [str(folder / name) for folder in others for name in PROGRAMS if os.access(folder / name, os.X_OK)]


def _launcher() -> list[str]:
    """The launcher's path and the options that were named with it. Raises BadInput."""
    if command := named("launcher"):
        try:
            program, *options = shlex.split(command)
        except ValueError as error:
            raise _wrong(f"The launcher {command!r} can't be read ({error})", "launcher") from None
        if path := shutil.which(program, path=_path()):
            return [path, *options]
        raise _wrong(f"The launcher {program} is not a program on PATH", "launcher")
    by_kind = {_kind(program): program for program in reversed(on_path())}
    if len(by_kind) > 1:
        raise _wrong(f"PATH has launchers of several MPIs, {words.listed(reversed(by_kind.values()))}", "launcher")
    if not by_kind:
        raise _wrong("PATH has no mpirun and no mpiexec: load the centre's module of MPI", "launcher")
    return list(by_kind.values())


@cache
def _kind(program: str) -> tuple[str, int]:
    """The family of a launcher, and the first number of its version. Raises BadInput."""
    if Path(program).name == "srun":
        return "srun", 0
    output = _output([program, "--version"], {})
    for family, pattern in _FAMILIES.items():
        if match := pattern.search(output):
            return family, int(match[1])
    raise _wrong(f"{program} is neither srun nor a launcher of Open MPI, MPICH or Intel MPI", "launcher")


def _library(program: str, family: str) -> Path:
    """The library of the launcher's MPI, which is beside it unless somebody has named it. Raises BadInput."""
    if name := named("library"):
        if Path(name).is_file():
            return Path(name)
        raise _wrong(f"The library {name} is not a file", "library")
    if family == "srun":
        raise _wrong("The launcher srun doesn't say which MPI its ranks have", "library")
    root = Path(program).resolve().parent.parent
    beside = [root / folder for folder in FOLDERS]
    files = [folder / name for folder in beside for name in SONAMES["openmpi" if family == "openmpi" else "mpich"]]
    files += [file for folder in beside for file in sorted(folder.glob("libmpi.so.*"))]  # with an ABI of its own
    if (library := next((file for file in files if file.is_file()), None)) is None:
        raise _wrong(f"No libmpi.so is beside {program}, in {words.listed(map(str, beside), 'or')}", "library")
    return library


@cache
def _abi(library: Path) -> tuple[str, str]:
    """The ABI by which mpi4py uses a library, and the library's version. Raises BadInput where mpi4py has no build for
    its ABI."""
    output = _output([sys.executable, "-P", "-c", PROBE], _loads(library))
    with suppress(ValueError):
        abi, version_words, files = json.loads(output)
        if abi in ABIS and str(library.resolve()) in files:
            return abi, version_words
    builds = "Open MPI 4 and 5 (libmpi.so.40) and of MPICH (libmpi.so.12)"
    raise _wrong(f"mpi4py has builds for the ABIs of {builds}, not for that of {library}", "library")


def _loads(library: Path) -> dict[str, str]:
    """The variables by which mpi4py loads a library. Its build for MPICH's ABI looks for the name libmpi.so.12, which
    Debian's and Cray's libraries don't have: a folder in which they have it goes before the others."""
    if library.name.startswith("libmpi.so"):
        return {"MPI4PY_LIBMPI": str(library)}
    folder = config.cache_folder("libmpi") / hashlib.sha256(os.fsencode(library)).hexdigest()[:16]
    folder.mkdir(exist_ok=True)
    with suppress(FileExistsError):
        (folder / "libmpi.so.12").symlink_to(library)
    others = _modules().get("LD_LIBRARY_PATH") or os.environ.get("LD_LIBRARY_PATH", "")
    return {"MPI4PY_LIBMPI": str(folder / "libmpi.so.12"), "LD_LIBRARY_PATH": f"{folder}:{others}".rstrip(":")}


def _output(command: list[str], variables: Mapping[str, str]) -> str:
    """The output of a program that answers at once; "" where it doesn't."""
    environment = own_environment() | _modules() | dict(variables)
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=environment, timeout=ANSWER)
        return done.stdout.decode(errors="replace")
    return ""
