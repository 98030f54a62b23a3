"""`workshop doctor --explain`: which package Python imports."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tests.cli.test_doctor import named
from workshop.cli import package
from workshop.core.errors import BadInput

pytestmark = pytest.mark.real


def test_a_package_that_works() -> None:
    checks = package.explain("numpy")
    assert all(check.ok for check in checks), checks
    assert named(checks, "Distribution").detail == f"numpy {metadata.version('numpy')}"
    assert named(checks, "Import").detail.startswith(f"version {metadata.version('numpy')}, in ")
    assert "native files" in named(checks, "Libraries").detail


def test_tensorflow_says_how_it_was_built() -> None:
    checks = package.explain("tensorflow")
    assert "built for CPUs" in named(checks, "Import").detail


def test_a_file_of_the_same_name_hides_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "yaml.py").write_text("")
    monkeypatch.chdir(tmp_path)
    place = named(package.explain("yaml"), "Place")
    assert not place.ok and place.fix.startswith(f"Rename {tmp_path / 'yaml.py'}")
    script = "import yaml, sys; sys.exit(hasattr(yaml, 'safe_load'))"
    assert subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=False).returncode == 0, "it does"


def test_a_package_that_breaks_says_its_last_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "breaks_here").mkdir()
    (tmp_path / "breaks_here" / "__init__.py").write_text("raise ImportError('libfoo.so.1: cannot open')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    checks = package.explain("breaks_here")
    trial = named(checks, "Import")
    assert not trial.ok and trial.detail == "ImportError: libfoo.so.1: cannot open"
    assert named(checks, "Libraries").detail == "none: it is Python alone"


def test_what_is_not_there() -> None:
    (missing,) = package.explain("no_such_package_here")
    assert not missing.ok and "finds no package" in missing.detail and sys.prefix in missing.fix
    with pytest.raises(BadInput, match="no name that Python can import"):
        package.explain("--tensorflow")
