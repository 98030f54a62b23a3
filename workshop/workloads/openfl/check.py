"""What `workshop doctor` says of OpenFL."""

from __future__ import annotations

from workshop.extension import Check
from workshop.workloads.openfl import environment


def openfl() -> Check:
    """Whether OpenFL is installed; nothing but the lab on federated learning needs it."""
    there = environment.installed()
    if there:
        return Check("OpenFL", True, f"{environment.OPENFL}, in an environment of its own", needed=False)
    fix = "Run `workshop federation install` (about 2 minutes) before the lab on federated learning reaches OpenFL."
    return Check("OpenFL", False, "not installed", fix, needed=False)
