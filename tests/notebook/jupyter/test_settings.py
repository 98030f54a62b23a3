"""How JupyterLab is set up."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from ipyparallel import Cluster

from tests.mpis import left_by_killed
from tests.notebook.kernel import kernel
from tests.notebook.sessions import ended
from tests.support import limit
from workshop.core import config
from workshop.mpi import openmpi
from workshop.notebook.jupyter import settings
from workshop.notebook.jupyter.extension import Engines


@pytest.fixture
def written(workshop_home: Path) -> Path:
    there = settings.base_folder()
    settings.write(there, config.learners_folder())
    return there


def test_nobody_else_gets_in_and_nothing_gets_out(written: Path) -> None:
    said = json.loads((written / "config" / "jupyter_server_config.json").read_text())
    server, lab = said["ServerApp"], said["LabApp"]
    assert server["ip"] == "127.0.0.1"
    assert not server["allow_remote_access"] and not server["disable_check_xsrf"] and server["allow_origin"] == ""
    assert "token" not in json.dumps(said).lower()
    assert lab["news_url"] is None and "Never" in lab["check_for_updates_class"]
    assert lab["extension_manager"] == "readonly"
    assert server["jpserver_extensions"]["jupyterlab_jupytext"] is False
    page = json.loads((written / "config" / "labconfig" / "page_config.json").read_text())
    assert page["disabledExtensions"]["jupyterlab-jupytext"]
    assert written.stat().st_mode & 0o077 == 0


def test_programs_of_this_environment_come_first(workshop_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/somewhere/else")
    variables = settings.environment("http://127.0.0.1:8501")
    assert variables["PATH"] == f"{Path(sys.prefix) / 'bin'}:/somewhere/else"
    assert variables["WORKSHOP_HOME"] == str(workshop_home)
    assert variables["WORKSHOP_DASHBOARD"] == "http://127.0.0.1:8501"
    assert openmpi.environment().items() <= variables.items()
    assert "WORKSHOP_DASHBOARD" not in settings.environment(None)
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        assert variables[name].startswith(str(workshop_home))


@pytest.mark.real
def test_a_terminal_finds_them_whatever_the_profile_says(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".bashrc").write_text("PATH=/opt/other/bin:/usr/bin:/bin\nMINE=kept\n")
    monkeypatch.setenv("SHELL", "/bin/bash")
    ended = subprocess.run(
        settings.shell(written),
        input="command -v mpirun; echo $MINE\n",
        env=os.environ | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=limit(60),
    )
    assert f"{Path(sys.prefix) / 'bin' / 'mpirun'}\nkept" in ended.stdout


@pytest.mark.real
def test_a_kernel_has_imported_what_notebooks_need_and_named_nothing(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in settings.environment(None).items():
        monkeypatch.setenv(name, value)
    with kernel() as started:
        found = started.run("import sys; print('workshop.notebook.session' in sys.modules, 'workshop' in globals())")
        assert found == "True False\n"
        assert "run the cell with workshop.attach() first" in started.run("%%ranks\nprint(rank)")


def test_a_cluster_of_the_panel_has_our_mpi(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(profile_dir=str(written / "ipython" / "profile_default"), cluster_id="")
    assert cluster.n == settings.ENGINES
    assert cluster.engine_launcher_class is Engines
    assert Cluster.from_dict(cluster.to_dict()).engine_launcher_class is Engines, "as the panel reads its file"
    launcher = cluster.engine_launcher_class(parent=cluster)
    assert launcher.mpi_cmd == [openmpi.launcher()]
    assert {"--map-by", "--bind-to"} <= set(launcher.mpi_args)
    assert openmpi.environment().items() <= launcher.environment.items()


@pytest.mark.real
def test_killed_mpiruns_are_not_in_the_way_of_a_cluster_of_the_panel(
    workshop_home: Path, written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # alone there: numbers are the whole machine's
    monkeypatch.setattr(tempfile, "tempdir", None)
    cluster = Cluster(profile_dir=str(written / "ipython" / "profile_default"), cluster_id="", n=1)
    try:
        cluster.start_controller_sync()
        left_by_killed(tmp_path, f"pmix.{socket.gethostname().split('.')[0]}.tool")
        cluster.start_engines_sync()
        with cluster.connect_client_sync() as client:
            client.wait_for_engines(1, timeout=limit(120))
    finally:
        cluster.stop_cluster_sync()
    ended(workshop_home)
