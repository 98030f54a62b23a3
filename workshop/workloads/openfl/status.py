"""A federation, whichever engine runs it: its settings as params of that engine's workload, and how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core.errors import BadInput
from workshop.registry import workload
from workshop.runtime import client
from workshop.store.records import RunRecord
from workshop.store.store import Store

WORKLOADS: Mapping[str, str] = {"openfl": "openfl", "session": "federated"}  # of backends
BACKENDS: Mapping[str, str] = {name: backend for backend, name in WORKLOADS.items()}  # of workloads
LIMITS = ("patience", "limit")  # settings that say for how long OpenFL's processes are waited for
HELD_OUT, OWN = "held-out accuracy", "own accuracy"  # events, by round
# What is told of certificates: nothing else that somebody may have written there, least of all a key.
CERTIFICATE = ("name", "subject", "issuer", "expires", "accepted", "why")
COMMAND = ("command", "where", "seconds", "code")
RECENT = 100  # runs among which the newest federation is


def federations(store: Store, unfinished: bool = False) -> list[RunRecord]:
    """Runs that are federations, newest first."""
    found = [run for name in BACKENDS for run in store.runs(workload=name, limit=RECENT)]
    wanted = [run for run in found if not (unfinished and run.ended)]
    return sorted(wanted, key=lambda run: run.id, reverse=True)


def chosen(store: Store, number: int | None, unfinished: bool = False) -> RunRecord:
    """The federation of that number; without one the newest, or the only one that goes on (`unfinished`). Raises
    BadInput where there is none, where that run isn't one, and where several go on."""
    if number is not None:
        run = client.read(store, number)
        if run.workload not in BACKENDS:
            raise BadInput(
                f"Run {number} is of {run.workload}, which is no federation; see workshop runs show {number}."
            )
        return run
    there = federations(store, unfinished)
    if not there:
        what = "No federation goes on" if unfinished else "There is no federation yet"
        raise BadInput(f"{what}; start one with: workshop federation start")
    if unfinished and len(there) > 1:
        raise BadInput(f"Several federations go on: runs {', '.join(str(run.id) for run in there)}; name one of them.")
    return client.read(store, there[0].id)


def status(store: Store, run: RunRecord, page: str | None = None) -> dict[str, Any]:
    """A federation as JSON. `page` is the address of the run's page. Accuracies are from 0 to 1, None before the first
    round; `fx` and `certificates` are empty where no OpenFL takes part."""
    rounds = by_round(store, run)
    session = store.session(run.session_id)
    return {
        "run": run.id,
        "backend": BACKENDS[run.workload],
        "workload": run.workload,
        "status": run.status,
        "session": run.session,
        "session_state": session.state,
        "page": page,
        "collaborators": run.params.get("collaborators", run.params.get("institutions")),
        "round": rounds[-1]["round"] if rounds else 0,
        "rounds": run.params.get("rounds"),
        "accuracy": {name: rounds[-1][name] if rounds else None for name in ("held_out", "own")},
        "by_round": rounds,
        "seconds_per_round": run.metrics.get("seconds_per_round"),
        "fault": run.params.get("fault"),
        "faults": [str(one) for one in listed(run, "faults")],
        "certificates": [_only(one, CERTIFICATE) for one in listed(run, "certificates")],
        "fx": [_only(one, COMMAND) for one in listed(run, "fx")],
        "params": run.params,
        "placement": run.placement,
        "minutes": session.limits.minutes if session.limits.everybody else None,
        **{
            name: getattr(run, name)
            for name in ("queued_at", "started_at", "finished_at", "verdict", "error", "notices")
        },
        "next": {name: f"workshop federation {name} {run.id}" for name in ("status", "stop")},
    }


def by_round(store: Store, run: RunRecord) -> list[dict[str, Any]]:
    """The accuracies of all rounds so far."""
    told: dict[int, dict[str, Any]] = {}
    for event in store.events(run.id, (HELD_OUT, OWN), rank=0):
        if event.step is not None:
            one = told.setdefault(event.step, {"round": event.step, "held_out": None, "own": None})
            one["held_out" if event.name == HELD_OUT else "own"] = event.value
    return [told[number] for number in sorted(told)]


def listed(run: RunRecord, name: str) -> list[Any]:
    """A metric that is a list; empty where the run told none."""
    value = run.metrics.get(name)
    return value if isinstance(value, list) else []


def _only(one: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: one.get(name) for name in names} if isinstance(one, Mapping) else {}


def request(backend: str, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The workload and its params for a federation with an OpenFL run's settings. Raises BadInput for another backend,
    for settings that can't be, and for a fault or limits that only OpenFL has."""
    if backend not in WORKLOADS:
        raise BadInput(f"There is no backend {backend!r}; it should be {' or '.join(WORKLOADS)}.")
    params: Any = workload("openfl").check(values)
    if backend == "openfl":
        return "openfl", dict(values)
    if params.fault != "none":
        raise BadInput(
            f"--fault {params.fault} needs OpenFL's certificates and processes; leave out --backend session."
        )
    for name in (one for one in LIMITS if one in values):
        raise BadInput(f"--{name} is for OpenFL's processes; leave it out, or leave out --backend session.")
    return "federated", params.as_federated().model_dump(mode="json")
