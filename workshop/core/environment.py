"""The environment of the processes that we start. A shell may hold variables of an outer batch job, of an outer mpirun
and of the user's other programs, which would change these processes or keep them from starting.

Programs of users, such as those under `workshop watch`, get the environment as it is.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

from workshop.core.errors import BadInput

JOBS = ("PBS_", "SLURM_", "LSB_", "SGE_", "PE_HOSTFILE")
LAUNCHERS = ("PMI", "OMPI_", "PRTE_", "HYDRA_", "I_MPI_HYDRA_", "I_MPI_PIN", "MPI_LOCAL", "MPICH_", "MPIR_", "MPIEXEC_")
LIBRARIES = ("MPI4PY_", "HWLOC_", "HOROVOD_", "KERAS_", "TF_USE_LEGACY_KERAS", "STREAMLIT_")
LEFT_OUT = (*JOBS, *LAUNCHERS, *LIBRARIES)  # the beginnings of their names
# Where Slurm's configuration is, where mpirun keeps its files, and where Keras's data are.
EXCEPTIONS = ("SLURM_CONF", "PRTE_MCA_prte_tmpdir_base", "KERAS_HOME")
CHANGING = ("LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "GOMP_", "KMP_", "OMP_P", "FI_", "I_MPI_", "UCX_", "XLA_")
KERAS_DATA = "WORKSHOP_KERAS_HOME"  # the user's KERAS_HOME, for ranks, which have one of their own
SHARED_MEMORY = Path("/dev/shm")
FILES = 1024  # that a process of a session must be allowed to open
MOST_FILES = 1 << 16  # that it asks for; some programs go through all numbers that are allowed


def left_out() -> list[str]:
    """The names of the variables that our processes don't get, unless a placement gives them to its ranks."""
    return sorted(name for name in os.environ if name.startswith(LEFT_OUT) and name not in EXCEPTIONS)


def changing() -> list[str]:
    """The names of the variables that our processes get and that change how ranks run."""
    return sorted(name for name in os.environ if name.startswith(CHANGING) and not name.startswith(LEFT_OUT))


def own_environment() -> dict[str, str]:
    """The variables of a process that we start. Open MPI needs HOME."""
    unwanted = set(left_out())
    variables = {name: value for name, value in os.environ.items() if name not in unwanted}
    return {"HOME": os.path.expanduser("~"), **variables}


def own_folder() -> str | None:
    """The folder in which a process that we start begins. None stands for the current one. Where that was deleted, it
    is the root folder, since no launcher starts in a deleted one."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return "/"
    return None


def raise_limits() -> None:
    """Raise the soft limits of open files and of processes to the hard ones, for this process and its children."""
    for kind, most in ((resource.RLIMIT_NOFILE, MOST_FILES), (resource.RLIMIT_NPROC, resource.RLIM_INFINITY)):
        soft, hard = resource.getrlimit(kind)
        target = min((limit for limit in (hard, most) if limit != resource.RLIM_INFINITY), default=hard)
        if soft != resource.RLIM_INFINITY and (target == resource.RLIM_INFINITY or soft < target):
            resource.setrlimit(kind, (target, hard))


def check() -> None:
    """Raise BadInput where no session can start on this machine, whatever its placement is."""
    if fault := too_few_files():
        raise BadInput(fault)


def too_few_files() -> str:
    """The sentence that says that a process may open too few files; "" where it may open enough."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard == resource.RLIM_INFINITY or hard >= FILES:
        return ""
    return (
        f"A process may have {hard} open files here (ulimit -H -n), and a session needs {FILES}; raise the hard limit, "
        "in /etc/security/limits.conf or in the options of the container or job."
    )


def no_shared_memory(folder: Path = SHARED_MEMORY) -> str:
    """The sentence that says that processes can't share memory by files; "" where they can."""
    if folder.is_dir() and os.access(folder, os.W_OK):
        return ""
    return (
        f"{folder} is missing or can't be written, and ranks of MPICH don't start without it; mount a tmpfs there that "
        "everybody can write (docker run --shm-size=1g), or take another MPI (--mpi openmpi)."
    )
