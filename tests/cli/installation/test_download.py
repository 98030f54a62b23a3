"""What an installation prints: how far it is, and one sentence where it can't go on."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import limit
from workshop.cli.installation import download

pytestmark = pytest.mark.real

UV = """
Resolved 204 packages in 1.41s
Downloading scipy (33.0MiB)
Downloading tensorflow-cpu (1.0GiB)
 Downloaded scipy
 Downloaded tensorflow-cpu
Installed 2 packages in 1.50s
 + scipy==1.17.1
"""
OFFLINE = "error: Failed to fetch: `scipy`\n  Caused by: error sending request for url\n  Caused by: dns error\n"


def run(tmp_path: Path, text: str, code: int) -> subprocess.CompletedProcess[str]:
    """Have a program in uv's place print a text and end with a code."""
    (tmp_path / "uv.py").write_text(f"import sys\nprint({text!r}, end='')\nsys.exit({code})")
    command = [sys.executable, str(Path(download.__file__)), sys.executable, str(tmp_path / "uv.py")]
    return subprocess.run(command, capture_output=True, text=True, timeout=limit(20), check=False)


def test_no_package_has_a_line_of_its_own(tmp_path: Path) -> None:
    done = run(tmp_path, UV, 0)
    assert (done.returncode, done.stdout) == (0, "")
    assert re.fullmatch(r"  done in \d+ s\n", done.stderr)


def test_what_is_left_is_shown(capsys, monkeypatch) -> None:
    monkeypatch.setattr(download, "EVERY", 0.0)
    download.run([sys.executable, "-c", f"print({UV!r}, end='')"])
    shown = capsys.readouterr().err.splitlines()
    assert "  33 of 1057 MiB are here" in shown and "  1057 of 1057 MiB are here" in shown


def test_an_installation_without_a_network_says_so(tmp_path: Path) -> None:
    done = run(tmp_path, OFFLINE, 2)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].strip() == download.OFFLINE and "dns error" in done.stderr
