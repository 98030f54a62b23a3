"""OpenFL's own environment: which versions, where, and what is said where it can't be installed."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys

import pytest

from tests import openfl
from tests.support import limit
from workshop.core import config
from workshop.core.errors import BadInput, WorkshopError
from workshop.workloads.openfl import environment, workspace

PIN = re.compile(r"[a-z0-9-]+==[0-9][0-9a-z.]*")


def test_every_version_is_exact_and_no_address_is_named():
    lines = [line for line in environment.requirements().read_text().splitlines() if not line.startswith("#")]
    assert all(PIN.fullmatch(line) for line in lines), "names and versions only"
    pins = dict(line.split("==") for line in lines)
    assert len(pins) == len(lines) > 50
    assert pins["openfl"] == environment.OPENFL
    assert pins["tensorflow-cpu"].startswith("2.20.")
    assert (2, 0) <= tuple(map(int, pins["numpy"].split(".")[:2])) < (2, 4)


def test_without_it_everybody_is_told_how_to_get_it(workshop_home):
    assert environment.installed() is None
    with pytest.raises(BadInput, match="runs `workshop federation install` first"):
        environment.require()


def test_other_versions_live_elsewhere(workshop_home, tmp_path, monkeypatch):
    before = environment.folder()
    assert before.is_relative_to(workshop_home)
    other = tmp_path / "requirements.txt"
    other.write_text("openfl==1.9\n")
    monkeypatch.setattr(environment, "requirements", lambda: other)
    assert environment.folder() != before


@pytest.mark.real
def test_what_cannot_be_installed_leaves_nothing_and_says_so(workshop_home, tmp_path, monkeypatch):
    wrong = tmp_path / "requirements.txt"
    wrong.write_text("a-package-that-is-not-there @ file:///nowhere/at-all.whl\n")
    monkeypatch.setattr(environment, "requirements", lambda: wrong)
    said = []
    with pytest.raises(WorkshopError, match=r"OpenFL can't be installed: the installer says: .*at-all"):
        environment.install(said.append)
    assert said[0].startswith("installing OpenFL 1.9")
    assert not [path for path in config.cache_folder("federation").iterdir() if path.is_dir()]
    assert environment.installed() is None


def test_a_python_that_openfl_does_not_know(workshop_home, monkeypatch):
    assert environment.interpreter()
    monkeypatch.setattr(sys, "version_info", (3, 13, 1))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(
        WorkshopError, match=r"needs Python 3\.11 or 3\.12, but this is 3\.13 and neither is on the PATH"
    ):
        environment.interpreter()
    monkeypatch.setattr(shutil, "which", lambda name: f"/somewhere/{name}")
    assert environment.interpreter() == "/somewhere/python3.12"


@pytest.mark.real
def test_fx_is_there_for_learners_where_the_folder_is_linked(workshop_home):
    """What is written into a program when it is installed must not name the folder in which that was done."""
    python = openfl.use(workshop_home)
    assert environment.install() == python, "nothing is installed twice"
    done = subprocess.run([python.parent / "fx", "--version"], capture_output=True, text=True, timeout=limit(150))
    assert done.returncode == 0, done.stderr[-500:]
    assert "OpenFL version: 1.9" in done.stdout


def test_the_lab_s_sources_can_be_read_by_its_python():
    sources = sorted((workspace.template() / "src").glob("*.py"))
    assert len(sources) == 7
    for source in sources:
        ast.parse(source.read_text(), feature_version=(3, 11))
