"""The package as others get it: what it resolves to on each machine, the wheel and the source, and `make release`."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support import limit, need
from workshop.core.ports import free_port
from workshop.mpi import prefix

pytestmark = pytest.mark.real
ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
VERSION = PROJECT["project"]["version"]
UNREACHED = re.compile("error sending request|dns error|client error .Connect")  # uv's words without a network


def called(*words: str | Path, code: int = 0, cwd: Path = ROOT, seconds: float = 120, **variables: str) -> str:
    """What a program prints, which has to end with that code; skipped where uv reaches no registry."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables
    ended = subprocess.run(
        list(map(str, words)), cwd=cwd, env=environment, capture_output=True, text=True, timeout=limit(seconds)
    )
    need(not UNREACHED.search(ended.stderr), "a network")
    assert ended.returncode == code, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr if code else ended.stdout


@pytest.fixture(scope="module")
def uv() -> str:
    need(found := prefix.uv(), "uv, which `make up` brings")
    return str(found)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the project's files as they are now, in one commit."""
    folder = tmp_path_factory.mktemp("source") / "project"
    for name in called("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0"):
        if name and (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(sys.prefix)
    for name, value in {"user.name": "Tester", "user.email": "tester@example.org", "commit.gpgsign": "false"}.items():
        called("git", "init", "--quiet", cwd=folder)
        called("git", "config", name, value, cwd=folder)
    called("git", "add", "--all", cwd=folder)
    called("git", "commit", "--quiet", "--message", "All of it", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def wheel(source: Path, uv: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    called(uv, "build", "--quiet", "--out-dir", folder, cwd=source)
    assert (folder / f"distributed_training_workshop-{VERSION}.tar.gz").exists()
    return next(folder.glob("*.whl"))


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize(
    "python", ["3.11", *(pytest.param(version, marks=pytest.mark.exhaustive) for version in ("3.12", "3.13")), "3.14"]
)
def test_all_of_it_resolves_to_wheels_and_pins(python: str, machine: str, uv: str, tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    platform = ["--python-version", python, "--python-platform", f"{machine}-manylinux_2_28"]
    options = ["--quiet", "--all-extras", "--group", "dev", "--only-binary", ":all:", "--no-header", "--no-annotate"]
    text = called(uv, "pip", "compile", *options, *platform, "pyproject.toml", cwd=tmp_path)
    resolved = dict(line.split("==") for line in text.split())
    names = {"x86_64": "tensorflow-cpu", "aarch64": "tensorflow"}
    builds = {names[machine]} if python != "3.14" else set()
    assert set(resolved) & set(names.values()) == builds
    pins = PROJECT["tool"]["uv"]["constraint-dependencies"] + PROJECT["project"]["dependencies"]
    pins += [pin for pins in PROJECT["project"]["optional-dependencies"].values() for pin in pins]
    pinned = {re.split(r"[=\[]", pin)[0] for pin in [*pins, *PROJECT["dependency-groups"]["dev"]]}
    assert set(resolved) <= pinned, "each transitive dependency has a pin"
    assert "altair" not in resolved, "what is overridden is left out"


def test_the_wheel_has_the_projects_files_and_no_others(wheel: Path, source: Path) -> None:
    tracked = called("git", "ls-files", cwd=source).splitlines()
    carried = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    expected = {name for name in tracked if name.startswith("workshop/")}
    for name in tracked:
        if (top := name.partition("/")[0]) in carried:
            expected.add(carried[top] + name.removeprefix(top))
    with ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        assert names == expected
        (metadata,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        words = archive.read(metadata).decode()
    assert f"\nVersion: {VERSION}\n" in words and "\nAuthor: The Workshop's contributors\n" in words
    assert "\nLicense-Expression: Apache-2.0\n" in words and "\nProvides-Extra: training\n" in words


@pytest.fixture(scope="module")
def installed(wheel: Path, uv: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The programs of an environment that has the wheel without extras."""
    folder = tmp_path_factory.mktemp("empty")
    (folder / "pins").write_text("\n".join(PROJECT["tool"]["uv"]["constraint-dependencies"]))
    called(uv, "venv", "--quiet", "--python", sys.executable, folder / "env")
    python = folder / "env/bin/python"
    called(uv, "pip", "install", "--quiet", "--python", python, "--constraint", folder / "pins", wheel, cwd=folder)
    yield folder / "env/bin"
    shutil.rmtree(folder)


@pytest.mark.exhaustive
def test_an_empty_environment_with_the_wheel(installed: Path, workshop_home: Path, tmp_path: Path) -> None:
    workshop = installed / "workshop"
    assert called(workshop, "--version", cwd=tmp_path) == f"workshop {VERSION}\n"
    report = json.loads(called(workshop, "doctor", "--json", cwd=tmp_path))
    checks = {check["name"]: check for check in report["checks"]}
    assert report["ok"] and not checks["Training"]["ok"] and "install the extra training" in checks["Training"]["fix"]
    ended = called(workshop, "run", "kmeans", "--ranks", "2", cwd=tmp_path, seconds=300)
    assert "k-means on 2 ranks" in ended and "completed" in ended
    refused = called(workshop, "run", "mnist", code=2, cwd=tmp_path)
    assert "needs TensorFlow, scikit-learn and dp-accounting, which are not installed; install the extra" in refused
    assert "Starting" not in refused, "no rank was started for it"
    for words in (["parallel", "--network", "perceptron"], ["regression", "--verify", "yes"]):
        assert "needs scikit-learn" in called(
            installed / "python", "-m", "workshop.engine", *words, code=2, cwd=tmp_path
        )
    small = {"allreduce": [], "parallel": ["--steps", "2"], "regression": ["--rows", "1000"]}
    for name, words in small.items():
        metrics = called(installed / "python", "-m", "workshop.engine", name, *words, cwd=tmp_path)
        assert json.loads(metrics), name


@pytest.mark.exhaustive
def test_the_dashboard_of_the_wheel_comes_up(installed: Path, workshop_home: Path, tmp_path: Path) -> None:
    command = [str(installed / "workshop"), "up", "--no-lab", "--port", str(free_port()), "--json"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as up:
        assert up.stdout is not None
        text = ""
        while not text.rstrip().endswith("}\n}") and (line := up.stdout.readline()):
            text += line
        answer = json.loads(text)
        with urllib.request.urlopen(f"{answer['url']}/join", timeout=limit(20)) as page:
            assert page.status == 200 and b"<html" in page.read()
        up.send_signal(signal.SIGINT)
        assert up.wait(limit(60)) in (0, 130)


def test_a_release_is_a_section_files_checksums_and_a_tag(source: Path, uv: str) -> None:
    need((Path(sys.prefix) / "bin/towncrier").exists(), "towncrier, which `make test` installs")
    (source / "changes/+tested.fixed.md").write_text("A change that a test has made.\n")
    release = source / ".ci/release"
    assert "not committed" in called(release, uv, code=2, cwd=source)
    called("git", "add", "--all", cwd=source)
    called("git", "commit", "--quiet", "--message", "A change", cwd=source)
    assert f"its tag is v{VERSION}" in called(release, uv, cwd=source)
    log = (source / "CHANGELOG.md").read_text()
    assert re.search(rf"^## {re.escape(VERSION)} \(\d{{4}}-\d\d-\d\d\)$", log, re.MULTILINE)
    assert "### Fixed\n\n- A change that a test has made.\n" in log
    assert [file.name for file in (source / "changes").iterdir()] == ["README.md"]
    sums = dict(reversed(line.split()) for line in (source / "dist/SHA256SUMS").read_text().splitlines())
    assert {Path(name).suffix for name in sums} == {".whl", ".gz"}
    for name, digest in sums.items():
        assert hashlib.sha256((source / "dist" / name).read_bytes()).hexdigest() == digest
    assert called("git", "describe", "--exact-match", cwd=source) == f"v{VERSION}\n"
    assert called("git", "status", "--porcelain", cwd=source) == ""
    assert "has a tag already" in called(release, uv, code=2, cwd=source)
