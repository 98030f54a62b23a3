"""Whether a study may go on in a session: its runs compare only where all of them ran on the same hosts, and on the
same kind of machine. Pure but for looking at this machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workshop.core import topology, words
from workshop.core.errors import BadInput
from workshop.store.records import RunRecord, SessionRecord, Trial


def check_place(
    study_id: int, waiting: Sequence[Trial], runs: Iterable[RunRecord], session: SessionRecord | None
) -> None:
    """Refuse a session on other hosts than those of the study; None: a private one, on this machine.

    `waiting` are trials that are still to be run, `runs` those that the study has. Trials that name hosts need these,
    which the session may have beside others; those that don't are run on all that the session has. Raises BadInput.
    """
    done = [run for run in runs if run.status == "completed"]
    there = _names(session.placement) if session is not None else []
    wanted = next((names for trial in waiting if (names := _names(trial.placement))), [])
    begun = next((_names(run.placement) for run in done), None)
    if wanted and not set(wanted) <= set(there):
        needed = wanted
    elif not wanted and begun is not None and set(begun) != set(there):
        needed = begun
    else:
        _check_machine(study_id, done, session)
        return
    name = f"session {session.name}" if session is not None else "a private session"
    raise BadInput(
        f"Study {study_id} runs on {_listed(needed)}, but {name} is on {_listed(there)}, where its runs would not "
        f"compare; go on in a session on {_listed(needed)} (--session NAME)."
    )


def _check_machine(study_id: int, done: Sequence[RunRecord], session: SessionRecord | None) -> None:
    """Refuse a machine with other cores than the one on which a study has measured. Raises BadInput."""
    before = next((told for run in done if (told := _machine(run.machine))), None)
    here = topology.machine() if session is None else session.machine
    if session is not None and not session.rank_map:
        here = {}  # until its ranks are up, it tells the machine that starts them
    now = _machine(here)
    if before is None or now is None or before == now:
        return
    raise BadInput(
        f"Study {study_id} has measured on {_described(before)}, but here are {_described(now)}, where its runs would "
        "not compare; go on there, or run the study anew."
    )


def _machine(told: Mapping[str, Any] | None) -> tuple[int, str] | None:
    """The cores of a machine and their model; None where nobody knows."""
    units = (told or {}).get("units")
    return (len({unit["core"] for unit in units}), (told or {}).get("model", "")) if units else None


def _described(machine: tuple[int, str]) -> str:
    cores, model = machine
    return words.count(cores, "core") + (f" ({model})" if model else "")


def _names(placement: Mapping[str, Any]) -> list[str]:
    return [host["name"] for host in placement.get("hosts") or ()]


def _listed(hosts: Sequence[str]) -> str:
    return words.listed(hosts) if hosts else "this machine alone"
