"""Show how far an installation is, in one line in place of one for each package.

As a program, `python workshop/cli/installation/download.py uv sync …` runs uv before anything is installed, so this
module imports the standard library alone.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Sequence

EVERY = 5.0  # seconds between lines where the output is no terminal
_STARTED = re.compile(r"\s*Downloading (\S+) \(([0-9.]+)([KMG])iB\)")
_ENDED = re.compile(r"\s*Downloaded (\S+)")
_UNIT = {"K": 1 / 1024, "M": 1.0, "G": 1024.0}  # MiB
_STEPS = re.compile(r"Using |Creating |Resolved |Prepared |Installed |Uninstalled |Audited |Built |Building |[+~-] ")
_NETWORK = re.compile(r"dns|connect|network|timed out|error sending request|client error", re.I)
OFFLINE = "The packages could not be downloaded: the network or the package index can't be reached; try again with it."


class ProgressLine:
    """One line on standard error that says how far something is. A terminal shows it in place."""

    def __init__(self) -> None:
        self._in_place = sys.stderr.isatty()
        self._shown = time.monotonic()

    def show(self, text: str) -> None:
        if self._in_place:
            print(f"\r\033[K  {text}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - self._shown > EVERY:
            self._shown = time.monotonic()
            print(f"  {text}", file=sys.stderr, flush=True)

    def end(self, text: str) -> None:
        """Show the last text, which stays."""
        print(f"\r\033[K  {text}" if self._in_place else f"  {text}", file=sys.stderr, flush=True)


def run(command: Sequence[str]) -> int:
    """Run uv, show what is left to download, and return its exit code. uv's words on an error are printed."""
    line, began = ProgressLine(), time.monotonic()
    sizes: dict[str, float] = {}  # MiB of packages that are on their way or here
    here = 0.0
    words: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as uv:
        for text in uv.stdout or ():
            if started := _STARTED.match(text):
                sizes[started[1]] = float(started[2]) * _UNIT[started[3]]
            elif ended := _ENDED.match(text):
                here += sizes.get(ended[1], 0.0)
            elif not _STEPS.match(text.strip()):
                words.append(text)
            line.show(f"{here:.0f} of {sum(sizes.values()):.0f} MiB are here" if sizes else "looking for packages")
    if uv.returncode == 0:
        line.end(f"done in {time.monotonic() - began:.0f} s")
        return 0
    output = "".join(words)
    line.end(OFFLINE if _NETWORK.search(output) else "uv could not install the packages:")
    print(output, end="", file=sys.stderr)
    return uv.returncode


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
