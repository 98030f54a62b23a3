"""Whether a study may go on in a session: its runs compare only where all of them ran on the same hosts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workshop.analysis import words
from workshop.errors import BadInput
from workshop.store.records import RunRecord, SessionRecord, Trial


def check_place(
    study_id: int, waiting: Sequence[Trial], runs: Iterable[RunRecord], session: SessionRecord | None
) -> None:
    """Refuse a session on other hosts than those of the study; None: a private one, on this machine.

    `waiting` are trials that are still to be run, `runs` those that the study has. Trials that name hosts need these,
    which the session may have beside others; those that don't are run on all that the session has. Raises BadInput.
    """
    there = _names(session.placement) if session is not None else []
    wanted = next((names for trial in waiting if (names := _names(trial.placement))), [])
    begun = next((_names(run.placement) for run in runs if run.status == "completed"), None)
    if wanted and not set(wanted) <= set(there):
        needed = wanted
    elif not wanted and begun is not None and set(begun) != set(there):
        needed = begun
    else:
        return
    name = f"session {session.name}" if session is not None else "a private session"
    raise BadInput(
        f"Study {study_id} runs on {_listed(needed)}, but {name} is on {_listed(there)}, where its runs would not "
        f"compare; go on in a session on {_listed(needed)} (--session NAME)."
    )


def _names(placement: Mapping[str, Any]) -> list[str]:
    return [host["name"] for host in placement.get("hosts") or ()]


def _listed(hosts: Sequence[str]) -> str:
    return words.listed(hosts) if hosts else "this machine alone"
