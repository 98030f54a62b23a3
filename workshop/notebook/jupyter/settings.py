"""How JupyterLab is set up before it starts: a learner's own copies of the notebooks, and settings in a folder of ours,
so that nobody's own Jupyter changes it or is changed by it. Its layout, which is written once and is the learner's from
then on, shows lab 0 beside the dashboard.

Nothing leaves the machine (no news, no look for updates, no package index), nobody else gets in, notebooks are opened
as they are (jupytext would turn scripts into notebooks), and whatever runs in it finds the workshop's programs first.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from workshop.core import config, topology
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.course import copies
from workshop.mpi import openmpi

DASHBOARD = "WORKSHOP_DASHBOARD"  # its address, without any token
UP = "from workshop.cli import main; main()"  # the command line as a program of Python: that room is above this one
EXTENSIONS = Path(__file__).parent / "labextensions"
HEARTBEAT = 500  # milliseconds; engines of the panel count as registered after one
SHUTDOWN = 2.0  # seconds that a kernel has to end by itself
AHEAD = "workshop.notebook.lab"  # loaded by every kernel as it starts
ENGINES = 2  # of a cluster of the panel, unless somebody says otherwise there
LAUNCHER = "workshop.notebook.jupyter.extension.Engines"  # of those engines, as ipyparallel names it


def base_folder() -> Path:
    """The folder of JupyterLab's folders in this state folder; only its owner can look inside."""
    base = config.home() / "jupyter"
    base.mkdir(parents=True, exist_ok=True, mode=0o700)
    return base


def environment(dashboard: str | None) -> dict[str, str]:
    """Variables of kernels and terminals: this environment's programs first, JupyterLab's folders and the state folder,
    where the dashboard is, and what mpirun wants to know of root."""
    base = base_folder()
    variables = {
        "JUPYTER_CONFIG_DIR": str(base / "config"),
        "JUPYTER_DATA_DIR": str(base / "data"),
        "JUPYTER_RUNTIME_DIR": str(base / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(base / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(base / "workspaces"),
        "JUPYTER_PREFER_ENV_PATH": "1",
        "IPYTHONDIR": str(base / "ipython"),
        "PATH": os.pathsep.join(filter(None, [programs(), os.environ.get("PATH")])),
        "WORKSHOP_HOME": str(config.home()),
    }
    return variables | openmpi.environment() | ({DASHBOARD: dashboard} if dashboard else {})


def programs() -> str:
    """The folder of this environment's programs: python, mpirun, workshop."""
    return str(Path(sys.prefix) / "bin")


def write(base: Path, root: Path) -> None:
    """Write all settings for a JupyterLab that shows the folder `root`."""
    _write(base / "config" / "jupyter_server_config.json", server(base, root))
    labs = base / "config" / "labconfig"
    _write(labs / "default_setting_overrides.json", OVERRIDES)
    _write(labs / "page_config.json", {"disabledExtensions": dict.fromkeys(LEFT_OUT, True)})
    profile = base / "ipython" / "profile_default"
    _write(profile / "ipcluster_config.json", clusters())
    _write(profile / "ipython_kernel_config.json", {"IPKernelApp": {"extensions": [AHEAD]}})
    (base / "shell").write_text(SHELL.format(programs=shlex.quote(programs())))


def server(base: Path, root: Path) -> dict[str, Any]:
    """The server's settings, without the token."""
    return {
        "ServerApp": {
            "root_dir": str(root),
            "ip": "127.0.0.1",
            "port_retries": 0,  # somebody else's server on that port is none of ours
            "open_browser": False,
            "allow_remote_access": False,
            "allow_origin": "",
            "disable_check_xsrf": False,
            "allow_root": os.geteuid() == 0,
            "log_level": "WARN",
            "terminado_settings": {"shell_command": shell(base)},
            "jpserver_extensions": {
                "workshop.notebook.jupyter": True,
                "jupyterlab": True,
                "jupyter_server_terminals": True,
                "ipyparallel": True,
                "jupyterlab_jupytext": False,
                "jupyter_lsp": False,
                "jupyter_server_proxy": False,  # it would open every port of the machine
                "notebook_shim": False,
            },
        },
        "PasswordIdentityProvider": {"hashed_password": "", "password_required": False, "allow_password_change": False},
        "LabApp": {
            "log_level": "WARN",
            "extra_labextensions_path": [str(EXTENSIONS)],
            "check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
            "news_url": None,
            "extension_manager": "readonly",  # the other one asks the package index
            "expose_app_in_browser": False,
        },
        "KernelManager": {"shutdown_wait_time": SHUTDOWN},
    }


# Extensions of the page that are left out: their part of the server is missing, or nothing can be installed here.
LEFT_OUT = (
    "jupyterlab-jupytext",
    "@jupyterhub/jupyter-server-proxy",
    "@jupyterlab/lsp-extension",
    "@jupyterlab/notebook-extension:language-server",
    "@jupyterlab/fileeditor-extension:language-server",
    "@jupyterlab/extensionmanager-extension",
)

# The defaults of a learner's own settings.
OVERRIDES: Mapping[str, Any] = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension:plugin": {"autosaveInterval": 30},
    # Beside the dashboard a line of code has some 70 columns.
    "@jupyterlab/notebook-extension:tracker": {"codeCellConfig": {"lineNumbers": False, "lineWrap": True}},
}


def clusters() -> dict[str, Any]:
    """The default for a cluster of the ipyparallel panel (or `ipp.Cluster()` in a notebook): ranks of our Open MPI."""
    placement = Placement(ranks=ENGINES)
    return {
        "Cluster": {
            "n": ENGINES,
            "delay": 0,
            "engine_launcher_class": LAUNCHER,
            "controller_args": [f"--HeartMonitor.period={HEARTBEAT}", "--usethreads"],
        },
        "MPILauncher": {
            "mpi_cmd": [openmpi.launcher()],  # also of engines="mpi", which a notebook may ask for
            "mpi_args": openmpi.arguments(placement, topology.allowed_cores(topology.machine())),
        },
        "LocalProcessLauncher": {"environment": openmpi.environment() | placement.rank_environment()},
    }


# A profile that puts other programs in front of ours would start ranks with another Python, or another MPI's mpirun.
SHELL = """[ -f ~/.bashrc ] && . ~/.bashrc
PATH={programs}:$PATH
"""


def shell(base: Path) -> list[str]:
    """The command of a terminal. Jupyter would take a login shell, whose profile forgets the PATH."""
    preferred = os.environ.get("SHELL") or ""
    if os.path.basename(preferred) in ("", "bash") and (bash := shutil.which(preferred or "bash")):
        return [bash, "--rcfile", str(base / "shell"), "-i"]
    return [preferred if shutil.which(preferred) else "sh"]


def _write(path: Path, values: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")


FIRST = "0-first.ipynb"  # what the first layout opens


def prepare(say: Callable[[str], None]) -> None:
    """Bring the learner's folder and JupyterLab's own up to date, and say what is new of the notebooks.

    Raises BadInput where a folder can't be written.
    """
    root = config.learners_folder()
    try:
        base = base_folder()
        root.mkdir(parents=True, exist_ok=True)
        write(base, root)
    except OSError as error:
        raise BadInput(f"JupyterLab's folders can't be made ({error.filename}: {error.strerror}).") from None
    try:
        for copied in copies.hand_out(config.notebooks_folder(), root):
            if copied.what in ("updated", "beside"):
                say(str(copied))
    except BadInput as error:
        say(f"JupyterLab starts without the labs' notebooks. {error}")
    with suppress(OSError):  # what is opened first is a convenience
        give_layout(base / "workspaces", root)


# What JupyterLab calls the file of the workspace at /lab.
FILE = "default-37a8.jupyterlab-workspace"
LAYOUT = Path(__file__).with_name("layout.json")  # lab 0 on the left, the dashboard on the right


def give_layout(folder: Path, root: Path) -> None:
    """Write the first layout, with lab 0 of the folder `root`. An existing layout stays, and without lab 0 nothing is
    written. Raises OSError."""
    path = folder / FILE
    if (root / FIRST).is_file() and not path.exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.copyfile(LAYOUT, path)
