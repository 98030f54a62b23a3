"""Horovod's build settings and what is said before a build. The build itself takes minutes and is tried by hand:
build a wheel, install it into an empty environment, run `workshop horovod install` there."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from tests.support import need, until
from workshop import config
from workshop.errors import WorkshopError
from workshop.mpi import horovod


def test_settings_are_those_of_pyproject():
    found = horovod.settings()
    assert found.requirement.startswith("horovod==")
    assert {"tensorflow-cpu", "openmpi"} == set(found.linked)
    assert any(needed.startswith("cmake") for needed in found.build)
    assert all("==" in needed for needed in found.needs), found.needs
    uv = tomllib.loads(config.project_file().read_text())["tool"]["uv"]
    assert found.variables == uv["extra-build-variables"]["horovod"]
    assert "LDFLAGS" in found.variables and "CXXFLAGS" in found.variables


def test_the_wheel_carries_what_config_looks_for():
    project = tomllib.loads(config.project_file().read_text())
    carried = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    shipped = (config.app_folder(), config.labs_folder(), config.notebooks_folder(), config.project_file())
    assert carried == {path.name: f"workshop/_data/{path.name}" for path in shipped}
    assert all(path.exists() for path in shipped)


@pytest.mark.real
def test_what_is_built_is_found_without_importing_it():
    need(horovod.library(), "Horovod, built by uv sync")
    before = set(sys.modules)
    assert horovod.built() == metadata.version("horovod")
    assert horovod.fault() is None
    assert horovod.install() == horovod.working() == horovod.built()
    assert not {"horovod", "tensorflow"} & {name.partition(".")[0] for name in set(sys.modules) - before}


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(horovod, "built", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("gcc") is None
    with pytest.raises(WorkshopError, match=r"gcc, g\+\+, make not found; install .*apt-get install") as error:
        horovod.install()
    assert "\n" not in str(error.value)


@pytest.mark.real
def test_what_can_not_be_loaded_is_built_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    need(horovod.library(), "Horovod, built by uv sync")
    broken, whole = tmp_path / "mpi_lib.so", horovod.library().read_bytes()
    monkeypatch.setattr(horovod, "library", lambda: broken)
    broken.write_bytes(whole[:5000])  # which ends its loader by a signal
    assert "loading it ended with -" in horovod.fault()
    broken.write_bytes(b"nothing of the kind\n" * 10)
    assert f"{broken}: invalid ELF header" in horovod.fault()
    assert horovod.built() and horovod.working() is None
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorkshopError, match=r"g\+\+, make not found"):
        horovod.install()


@pytest.mark.real
def test_a_step_that_fails_says_why(tmp_path: Path):
    steps = horovod._Steps(tmp_path / "log")
    steps.take([sys.executable, "-c", "print('error: of an earlier step')"], "nothing")
    code = "print('compiling'); print('x.cc:3:1: error: no such thing'); print('make: failed'); raise SystemExit(2)"
    with pytest.raises(WorkshopError, match=r"the engine failed \(x\.cc:3:1: error: no such thing\)"):
        steps.take([sys.executable, "-c", code], "the engine")


@pytest.mark.real
def test_a_step_that_takes_too_long_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(horovod, "SECONDS", 1.0)
    steps = horovod._Steps(tmp_path / "log")
    with pytest.raises(WorkshopError, match="was not built within"):
        steps.take(["bash", "-c", f"sleep 60 & echo $! > {tmp_path}/pid; wait"], "the engine")
    pid = (tmp_path / "pid").read_text().strip()
    until(lambda: _ended(pid), 20, "the child to end")


def _ended(pid: str) -> bool:
    state = subprocess.run(["ps", "-o", "state=", "-p", pid], capture_output=True, text=True).stdout.strip()
    return state in ("", "Z")
