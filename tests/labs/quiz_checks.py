"""Runs the code of decks' questions, each in a namespace of its own with the question's numbers bound.

    python tests/labs/quiz_checks.py < cases.json

`cases.json` is a list of {"code", "numbers"}; a list of {"answer"} or {"error"} comes out, and whether MPI was started.
"""

from __future__ import annotations

import contextlib
import json
import sys
import traceback
from typing import Any


def leave(code: str, numbers: dict[str, float]) -> dict[str, Any]:
    """What the code leaves in `answer`, as JSON can hold it."""
    names: dict[str, Any] = {"__name__": "check", **numbers}
    try:
        exec(compile(code, "<check>", "exec"), names)
        return {"answer": json.loads(json.dumps(names["answer"], default=float))}
    except Exception:
        return {"error": traceback.format_exc()}


if __name__ == "__main__":
    cases = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):  # what the code prints is no part of the result
        found = [leave(case["code"], case["numbers"]) for case in cases]
    json.dump({"found": found, "mpi": "mpi4py.MPI" in sys.modules}, sys.stdout)
