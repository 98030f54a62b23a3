"""MPICH and Intel MPI in folders (prefixes) of their own. In one environment they would overwrite each other's files
and Open MPI's. A rank uses one by `MPI4PY_LIBMPI`, and that folder's own launcher starts it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

from workshop.core import config
from workshop.core.environment import own_environment, own_folder
from workshop.core.errors import WorkshopError

PACKAGES = {"mpich": "mpich==5.0.2", "intelmpi": "impi-rt==2021.18.1"}
DOWNLOAD_SECONDS = 900  # for a download on a slow line
ANEW = {"PIP_IGNORE_INSTALLED": "1"}  # for pip, what the environment has counts as installed in a prefix, too
# What pip and uv say where they reach nobody.
UNREACHED = (
    "client error (Connect)", "Connection refused", "ConnectTimeout", "dns error", "error sending request",
    "Failed to establish a new connection", "name resolution", "NameResolutionError", "Network is unreachable",
    "from versions: none", "network connectivity is disabled", "NewConnectionError", "ProxyError",
)  # fmt: skip
CHECK = "from mpi4py import MPI; assert MPI.COMM_WORLD.size == 2; MPI.COMM_WORLD.Barrier()"


def launcher(folder: Path) -> str:
    """The command of that folder's MPI that starts ranks."""
    return str(folder / "bin" / "mpiexec.hydra")


def environment(folder: Path) -> dict[str, str]:
    """The variables with which ranks load that folder's MPI. `MPI4PY_MPIABI` beside them would break it."""
    return {"MPI4PY_LIBMPI": str(folder / "lib" / "libmpi.so.12")}


def installed() -> dict[str, Path]:
    """The prefixes of the MPIs that `install` has put here, by name."""
    return {name: folder for name in PACKAGES if (folder := _folder(name)).is_dir()}


def version(folder: Path) -> str | None:
    """The version of the MPI in a prefix; None where its package doesn't tell."""
    names = {pin.partition("==")[0] for pin in PACKAGES.values()}
    folders = [str(packages) for packages in folder.glob("lib*/python*/site-packages")]
    return next((package.version for package in metadata.distributions(path=folders) if package.name in names), None)


def install(name: str) -> Path:
    """Install `mpich` or `intelmpi`, unless it is there, try it with two ranks, and return its prefix.

    Raises WorkshopError where it can't be installed or doesn't start ranks.
    """
    folder = _folder(name)
    existed = folder.is_dir()
    install_packages(folder, [PACKAGES[name]])
    words = starts([launcher(folder)], environment(folder))
    if words is None:
        return folder
    if existed:  # sessions may use it, and the machine may only be busy
        raise WorkshopError(f"{name} is in {folder}, but doesn't start two ranks now. It says: {words}")
    shutil.rmtree(folder, ignore_errors=True)
    raise WorkshopError(f"{name} is installed but doesn't start two ranks; it was removed. It says: {words}")


def install_packages(folder: Path, packages: Sequence[str]) -> None:
    """Put exactly these packages, without their dependencies, into a prefix of their own, all or nothing.

    Does nothing where the folder is there already. Raises WorkshopError.
    """
    if folder.is_dir():
        return
    partial = folder.with_name(f".{folder.name}-{os.getpid()}")
    command = [*installer(), "--no-deps", "--prefix", str(partial), *packages]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS, check=False, env=os.environ | ANEW
        )
        if done.returncode != 0:
            raise WorkshopError(f"{' '.join(packages)} can't be installed: {fault(done.stderr or done.stdout)}")
        partial.rename(folder)
    except subprocess.TimeoutExpired:
        raise WorkshopError(
            f"{' '.join(packages)} could not be installed within {DOWNLOAD_SECONDS} s; try again on a faster line."
        ) from None
    except OSError as error:
        raise WorkshopError(
            f"{folder} can't be written ({error.strerror}); free some space or set WORKSHOP_HOME."
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def path(folder: Path, module: str) -> str | None:
    """The folder that Python finds a module in, where `install_packages` has put it into this prefix."""
    packages = [package.parent for package in folder.glob(f"lib*/python*/site-packages/{module}")]
    return str(packages[0]) if packages else None


def installer(action: str = "install") -> list[str]:
    """The environment's own pip, or uv: an environment that uv made has no pip. Raises WorkshopError.

    To be followed by options and packages; `action` is install or uninstall.
    """
    if importlib.util.find_spec("pip"):
        options = [] if action == "install" else ["--yes"]
        return [sys.executable, "-P", "-m", "pip", "--quiet", "--disable-pip-version-check", action, *options]
    uv_path = uv()
    if uv_path is None:
        raise WorkshopError(
            "Neither pip nor uv is in this environment, and one of them is needed to install packages; "
            f"run `{sys.executable} -m ensurepip` first."
        )
    return [uv_path, "pip", action, "--quiet", "--python", sys.executable]


def fault(output: str) -> str:
    """Why an installer failed, as the end of a sentence: the network, or the end of what it says."""
    if any(words in output for words in UNREACHED):
        return "the network is missing; connect this machine, then try again."
    return f"the installer says: {' '.join(output.split())[-600:]}"


def uv() -> str | None:
    """The uv that is there, if any."""
    beside = Path(__file__).parents[2] / ".uv" / "bin" / "uv"  # where `make up` puts it in a checkout
    return os.environ.get("UV") or shutil.which("uv") or (str(beside) if beside.exists() else None)


def starts(command: Sequence[str], variables: Mapping[str, str]) -> str | None:
    """Start two ranks with a launcher and its options. Returns None where they find each other, else the output.

    A launcher and a library that don't fit give two worlds of one rank, and exit code 0.
    """
    try:
        done = subprocess.run(
            [*command, "-n", "2", sys.executable, "-P", "-c", CHECK],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            env=own_environment() | dict(variables),
            cwd=own_folder(),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return None
    return " ".join((done.stderr or done.stdout).split())[-500:] or f"exit code {done.returncode}"


def _folder(name: str) -> Path:
    return config.cache_folder("mpi") / name
