"""The dashboard's server: where its settings come from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import limit

OPTIONS = """
from workshop.web.server import build
from workshop.store.store import Store
with Store.open() as store:
    build(store, 9999)
from streamlit import config
print(*map(config.get_option, ("global.developmentMode", "server.port", "browser.gatherUsageStats")))
"""


@pytest.mark.real
def test_the_users_streamlit_settings_are_not_read(workshop_home: Path, tmp_path: Path) -> None:
    folder = tmp_path / ".streamlit"
    folder.mkdir()
    (folder / "config.toml").write_text("[global]\ndevelopmentMode = true\n[server]\nport = 9000\n")
    done = subprocess.run(
        [sys.executable, "-c", OPTIONS],
        env=os.environ | {"HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=limit(60),
    )
    assert done.stdout.split() == ["False", "8501", "False"], done.stdout + done.stderr
