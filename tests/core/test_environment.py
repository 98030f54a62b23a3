"""The environment of what we start: in a shell with the leftovers of jobs and of other programs, sessions run."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import limit
from workshop.core import environment

# Each of these alone keeps a session from starting or a training from running.
POISON = {
    "PBS_JOBID": "12.x",
    "PBS_NODEFILE": "/nowhere",
    "PBS_ENVIRONMENT": "PBS_INTERACTIVE",
    "SLURM_JOB_ID": "7",
    "SLURM_JOB_NODELIST": "elsewhere",
    "PMIX_RANK": "0",
    "PMIX_NAMESPACE": "prterun-x@1",
    "PMI_RANK": "0",
    "PMI_SIZE": "4",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_MCA_pml": "ucx",
    "PRTE_MCA_ras": "nonesuch",
    "HYDRA_LAUNCHER": "nonesuch",
    "HWLOC_XMLFILE": "/nowhere",
    "HOROVOD_CONTROLLER": "gloo",
    "MPI4PY_LIBMPI": "/nowhere/libmpi.so",
    "KERAS_BACKEND": "jax",
    "TF_USE_LEGACY_KERAS": "1",
    "STREAMLIT_GLOBAL_DEVELOPMENT_MODE": "true",
}
OURS = {"SLURM_CONF": "/etc/slurm.conf", "UCX_TLS": "tcp", "KERAS_HOME": "/data/keras", "WORKSHOP_MEMORY": "6G"}
# A command in the learner's folder, and another one in a folder that was deleted, with few open files.
SHELL = """
ulimit -S -n 256
cd "$FOLDER"
"$@"
code=$?
mkdir gone && cd gone && rmdir ../gone && "$KMEANS" run kmeans --data blobs --points 2000 --iterations 2 --ranks 2 \\
    --backend numpy --private && exit $code
"""


@pytest.fixture
def limits() -> Iterator[None]:
    before = {kind: resource.getrlimit(kind) for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC)}
    yield
    for kind, values in before.items():
        resource.setrlimit(kind, values)


def test_leftovers_stay_out_and_settings_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**POISON, **OURS}.items():
        monkeypatch.setenv(name, value)
    assert not POISON.keys() & environment.own_environment().keys()
    assert environment.own_environment().items() >= OURS.items()
    assert POISON.keys() <= set(environment.left_out()) and not OURS.keys() & set(environment.left_out())
    assert "UCX_TLS" in environment.changing()


def test_a_deleted_folder_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert environment.own_folder() is None
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert environment.own_folder() == "/"


def test_soft_limits_become_the_hard_ones(limits: None) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    environment.raise_limits()
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert soft == min(limit for limit in (hard, environment.MOST_FILES) if limit != resource.RLIM_INFINITY)
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    assert soft == hard


@pytest.mark.real
def test_in_a_poisoned_shell_sessions_run_and_train(workshop_home: Path, tmp_path: Path) -> None:
    """All poison at once: variables, few open files, a folder with modules named like Python's, Keras's settings, no
    HOME; and then a deleted folder."""
    folder = tmp_path / "learner"
    folder.mkdir()
    for name in ("random", "numpy", "queue"):
        (folder / f"{name}.py").write_text("guess = 7\n")
    keras = Path(os.environ["KERAS_HOME"])
    keras.mkdir()
    (keras / "keras.json").write_text(
        '{"backend": "torch", "floatx": "float16", "image_data_format": "channels_first"}'
    )
    workshop = str(Path(sys.executable).with_name("workshop"))
    variables = {name: value for name, value in os.environ.items() if name != "HOME"} | POISON
    done = subprocess.run(
        ["bash", "-c", SHELL, "bash", workshop, "run", "mnist", "--data", "digits", "--epochs", "1", "--ranks", "2",
         "--private"],
        env=variables | {"FOLDER": str(folder), "KMEANS": workshop},
        capture_output=True,
        text=True,
        timeout=limit(120),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("- completed") == 2, done.stdout + done.stderr
