"""OpenFL's own environment: which versions, where, and what is said where it can't be installed."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests import openfl
from tests.support import limit
from workshop.core import config
from workshop.core.errors import BadInput, WorkshopError
from workshop.workloads.openfl import environment

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


@pytest.mark.real
def test_fx_is_there_for_learners_where_the_folder_is_linked(workshop_home):
    """What is written into a program when it is installed must not name the folder in which that was done."""
    python = openfl.use(workshop_home)
    assert environment.install() == python, "nothing is installed twice"
    done = subprocess.run([python.parent / "fx", "--version"], capture_output=True, text=True, timeout=limit(150))
    assert done.returncode == 0, done.stderr[-500:]
    assert "OpenFL version: 1.9" in done.stdout
