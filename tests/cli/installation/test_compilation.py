"""What an installation compiles ahead is what runs and imports then find."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import limit
from workshop.cli.installation import compilation
from workshop.core import config

pytestmark = pytest.mark.real


def test_modules_are_kept_also_where_python_is_told_not_to(
    workshop_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "small"
    package.mkdir()
    for name, text in {"__init__": "", "one": "", "two": "", "__main__": "raise SystemExit(3)"}.items():
        (package / f"{name}.py").write_text(text)
    (tmp_path / "called.py").write_text(f"def make():\n    open({str(tmp_path / 'made')!r}, 'w')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    failures = compilation.compile_all([["small.", "called:make"], ["absent"]])
    assert failures == ["ModuleNotFoundError: No module named 'absent'"]
    kept = {file.name.partition(".")[0] for file in package.glob("__pycache__/*.pyc")}
    assert kept == {"__init__", "one", "two"}
    assert (tmp_path / "made").exists()


def test_a_first_run_finds_its_kernels(tmp_path: Path, workshop_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "cache_folder", lambda name: tmp_path / name)  # nothing but what is compiled here
    assert compilation.compile_all([["workshop.workloads.kmeans.lloyd:compile_kernels"]], compilation.GENTLY) == []
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "numba").rglob("*.nb?")}
    assert before
    variables = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    # The last one gets as far as the bounds.
    blobs = ["--data", "blobs", "--points", "9000", "--iterations", "20", "--clusters", "60", "--tolerance", "0"]
    for words in (["--iterations", "2"], blobs):
        command = [sys.executable, "-m", "workshop.engine", "kmeans", *words]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=limit(240))
        assert done.returncode == 0, done.stderr
    after = {file: file.stat().st_mtime_ns for file in (tmp_path / "numba").rglob("*.nb?")}
    assert after == before, "nothing was compiled anew"
