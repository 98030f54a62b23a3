"""`python -m workshop.cli.study_process STUDY SESSION`: `workshop study resume` for the dashboard.

SIGINT asks it to stop, also where the dashboard was started in the background of a shell: such programs, and whatever
they start, ignore it unless they say otherwise.
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
