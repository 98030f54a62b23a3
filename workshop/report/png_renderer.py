"""Figures as PNG, drawn by a Chromium that ends with us.

Kaleido (plotly's own exporter) drives the browser. It does so in a process of its own, for three reasons: the kernel
ends that process when we are killed, and the browser, whose pipe is then closed, ends with it; everything that it
starts carries a tag by which we end what is left when the time is up; and its event loop is none of ours.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import plotly.graph_objects as go

from workshop.core import words
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.parent_death import guarded
from workshop.core.processes import end_all
from workshop.report.figures import theme

TAG = "WORKSHOP_RENDERING"  # every process of one rendering
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WIDTH, HEIGHT = 800, 450  # pixels, before `SCALE`: as wide as a slide shows these letters well
SCALE = 2  # so that print and projectors show sharp letters
LIMIT = 60.0  # seconds for the browser's start and the first figure
EACH = 15.0  # seconds more for every other one
NO_BROWSER = (
    "Figures as PNG are drawn by Chromium or Chrome, and this machine has neither: install one (apt-get install "
    "chromium), or export HTML, which needs none."
)


def browser() -> str | None:
    """The browser to draw with: BROWSER_PATH where it is set, else the first one of `BROWSERS` on the PATH."""
    if configured := os.environ.get("BROWSER_PATH"):
        return shutil.which(configured)
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def render(figures: Sequence[go.Figure], width: int = WIDTH, limit: float | None = None) -> list[bytes]:
    """Each figure as a PNG of `width` pixels, times `SCALE`, and of its own height.

    Raises BadInput where there is no browser, WorkshopError where it doesn't do its work within the `limit` (seconds).
    """
    if not figures:
        return []
    path = browser()
    if path is None:
        raise BadInput(NO_BROWSER)
    limit = LIMIT + EACH * (len(figures) - 1) if limit is None else limit
    token = secrets.token_hex(8)
    with tempfile.TemporaryDirectory(prefix="workshop-png-", ignore_cleanup_errors=True) as folder:
        for number, figure in enumerate(figures):
            (Path(folder) / f"{number}.json").write_text(theme.on_paper(figure).to_json())
        environment = {**os.environ, TAG: token, "TMPDIR": folder, "BROWSER_PATH": path}
        command = guarded([sys.executable, "-P", "-m", "workshop.report.png_renderer", folder, str(width)])
        try:
            done = subprocess.run(
                command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit
            )
        except subprocess.TimeoutExpired:
            raise WorkshopError(
                f"{Path(path).name} has not drawn {words.count(len(figures), 'figure')} within {limit:.0f} s; try "
                "again when the machine is less busy, or export HTML."
            ) from None
        finally:
            end_all(TAG, token, seconds=1.0)
        files = [Path(folder) / f"{number}.png" for number in range(len(figures))]
        if done.returncode or not all(file.exists() for file in files):
            message = " ".join(done.stderr.strip().splitlines()[-1:])[-300:] or f"it ended with {done.returncode}"
            raise WorkshopError(f"{Path(path).name} could not draw the figures: {message}")
        return [file.read_bytes() for file in files]


async def _draw(folder: Path, width: int) -> None:
    import kaleido

    # MathJax would come from the network, and no figure has formulas.
    async with kaleido.Kaleido(n=1, timeout=LIMIT, mathjax=False) as drawing:
        for file in sorted(folder.glob("*.json")):
            figure = json.loads(file.read_text())
            height = int(figure["layout"].get("height") or HEIGHT)
            image = await drawing.calc_fig(
                figure, opts={"format": "png", "width": width, "height": height, "scale": SCALE}
            )
            file.with_suffix(".png").write_bytes(image)


if __name__ == "__main__":
    asyncio.run(_draw(Path(sys.argv[1]), int(sys.argv[2])))
