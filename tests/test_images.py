"""The images in deploy/, which tests can't build: their files agree with each other and with the project, and the steps
of the Containerfile run in a clean root file system."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.try_steps import instructions
from tests.support import limit, need

ROOT = Path(__file__).parents[1]
CONTAINERFILE = ROOT / "deploy" / "Containerfile"


def test_the_files_of_images_agree() -> None:
    steps = instructions(CONTAINERFILE.read_text())
    stages = {rest.split()[2]: rest.split()[0] for name, rest in steps if name == "FROM"}
    outside = [image for image in stages.values() if image not in stages]
    assert outside and all(re.fullmatch(r"\S+:\S*\d{8}\S*", image) for image in outside), "not the image of a day"
    assert [rest for name, rest in steps if name == "USER"][-1].split(":")[0] not in ("root", "0")
    assert any(name == "HEALTHCHECK" for name, _ in steps)
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    assert (ROOT / ".devcontainer" / container["build"]["dockerfile"]).resolve() == CONTAINERFILE
    assert container["build"]["target"] in stages
    left_out = {line.removeprefix("**/").rstrip("/") for line in (ROOT / ".containerignore").read_text().split()}
    assert {line.rstrip("/") for line in (ROOT / ".gitignore").read_text().split()} <= left_out
    prefix = f"{ROOT.anchor}opt/workshop/.venv/bin"
    assert prefix in (ROOT / "deploy" / "workshop.def").read_text() and f"PATH={prefix}:$PATH" in dict(steps)["ENV"]


@pytest.mark.real
def test_hadolint_finds_nothing() -> None:
    need(found := shutil.which("hadolint", path=f"{sys.prefix}/bin"), "hadolint (the group `dev`)")
    checked = subprocess.run([str(found), str(CONTAINERFILE)], capture_output=True, text=True, timeout=limit(30))
    assert checked.returncode == 0, checked.stdout


@pytest.mark.real
@pytest.mark.exhaustive
@pytest.mark.timeout(limit(1500))
def test_the_steps_run_in_a_clean_debian(tmp_path: Path) -> None:
    words = ["unshare", "--user", "--map-root-user", "--map-auto", "mmdebstrap", "--version"]
    if shutil.which("mmdebstrap") is None or subprocess.run(words, capture_output=True).returncode:
        pytest.skip("mmdebstrap, newuidmap and a range of user ids in /etc/subuid: more than CI has")
    base = tmp_path / "base.tar"
    subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "bookworm", str(base)], check=True)
    subprocess.run([sys.executable, "deploy/try_steps.py", str(base), str(tmp_path / "root")], cwd=ROOT, check=True)
