"""`python -m workshop.cli.study_process STUDY SESSION`: `workshop study resume` for the dashboard.

SIGINT stops it. A program that a shell has started in the background would ignore SIGINT, so it is enabled here.
"""

from __future__ import annotations

import signal
import sys

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    from workshop.cli import main

    study, session = sys.argv[1:]
    sys.argv[1:] = ["study", "resume", study, "--session", session]
    main()
