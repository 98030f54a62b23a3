"""Horovod's build settings, and how far it is in this environment."""

from __future__ import annotations

import fcntl
import json
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from tests.support import need
from workshop.core import config
from workshop.mpi import horovod
from workshop.mpi.horovod import Build


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
    need(horovod.library(), "Horovod, built by make test")
    before = set(sys.modules)
    assert horovod.built() == metadata.version("horovod")
    assert horovod.fault() is None
    assert horovod.working() == horovod.built() and horovod.build() == Build("built")
    assert not {"horovod", "tensorflow"} & {name.partition(".")[0] for name in set(sys.modules) - before}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where nothing has been built yet."""
    monkeypatch.setattr(horovod, "library", lambda: None)
    monkeypatch.setattr(horovod, "folder", lambda: tmp_path / "horovod-build")
    return tmp_path / "horovod-build"


def test_how_far_it_is(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert horovod.build() == Build("pending"), "nothing was begun"
    folder.mkdir()
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert horovod.build() == Build("running"), "nothing is compiled yet"
        (folder / "log").write_text("configured\n [  7%] Building CXX a.o\n  [ 45%] Building CXX b.o\nnote: 99%\n")
        assert horovod.build() == Build("running", percent=45)
        assert "45 % so far" in str(horovod.build()) and "Until then, training exchanges" in str(horovod.build())
    assert horovod.build() == Build("pending"), "whoever built it has died"
    (folder / "end.json").write_text(json.dumps({"failed": "Horovod can't be built: no g++."}))
    failed = horovod.build()
    assert failed == Build("failed", "Horovod can't be built: no g++.")
    assert "no g++" in str(failed)
    monkeypatch.setattr(horovod, "library", lambda: tmp_path / "mpi_lib.so")
    (folder / "end.json").write_text(json.dumps({"built": horovod.key()}))
    assert horovod.build() == Build("built") and horovod.build().obstacle is None
    (folder / "end.json").write_text(json.dumps({"built": "of another TensorFlow"}))
    assert horovod.build() == Build("pending")
    (folder / "end.json").write_text(json.dumps({"built": "of another TensorFlow", "failed": "No g++."}))
    assert horovod.build() == Build("failed", "No g++."), "the library there is an old one"
    (folder / "end.json").write_text("[half a docu")
    assert horovod.build() == Build("built"), "somebody else built it, like uv"
