"""The command line. Thin: every command checks its words, calls the package and shows the answer.

`--json` prints one JSON document on standard output, everything else goes to standard error.
Exit 0: done; 1: the run (or what was asked for) failed; 2: bad input; 130: ended by Ctrl-C.
"""

from __future__ import annotations

import sys


def main() -> None:
    """The `workshop` command: every error that a person can cause ends as one sentence."""
    try:
        from workshop.cli.main import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        code = 130
    sys.exit(code)
