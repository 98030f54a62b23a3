"""A federation over OpenFL or on our own ranks: its settings as params of a workload, and its status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core.errors import BadInput
from workshop.registry import workload
from workshop.runtime import client
from workshop.store.records import RunRecord
from workshop.store.store import Store
from workshop.workloads.openfl import command_tables

WORKLOADS: Mapping[str, str] = {"openfl": "openfl", "session": "federated"}  # backend -> workload
BACKENDS: Mapping[str, str] = {name: backend for backend, name in WORKLOADS.items()} | {"segmentation": "session"}
LIMITS = ("patience", "limit")  # time limits for OpenFL's processes
EVENTS = {f"{on} {measure}": on.replace("-", "_") for on in ("held-out", "own") for measure in ("accuracy", "Dice")}
# The fields of certificates and commands that are shown: nothing else in their records, least of all a key.
CERTIFICATE = ("name", "subject", "issuer", "expires", "accepted", "why")
COMMAND = ("command", "where", "seconds", "code")
FROM_RUN = ("queued_at", "started_at", "finished_at", "verdict", "error", "notices", "params", "placement")
RECENT = 100  # newest runs of each workload that are searched


def chosen(store: Store, number: int | None, unfinished: bool = False) -> RunRecord:
    """Return the federation of that number; without a number the newest, or the only one that goes on (`unfinished`).
    Raises BadInput where there is none, where that run isn't a federation, and where several go on."""
    if number is not None:
        run = client.read(store, number)
        if run.workload not in BACKENDS:
            raise BadInput(
                f"Run {number} is of {run.workload}, which is no federation; see workshop runs show {number}."
            )
        return run
    runs = [run for name in BACKENDS for run in store.runs(workload=name, limit=RECENT)]
    numbers = sorted((run.id for run in runs if not (unfinished and run.ended)), reverse=True)
    if not numbers:
        what = "No federation goes on" if unfinished else "There is no federation yet"
        raise BadInput(f"{what}; start one with: workshop federation start")
    if unfinished and len(numbers) > 1:
        raise BadInput(f"Several federations go on: runs {', '.join(map(str, numbers))}; name one of them.")
    return client.read(store, numbers[0])


def status(store: Store, run: RunRecord, page: str | None = None) -> dict[str, Any]:
    """Return a federation as JSON. `page` is the address of the run's page. Accuracies are from 0 to 1, None before the
    first round; `fx` and `certificates` are empty where no OpenFL takes part."""
    rounds = by_round(store, run)
    session = store.session(run.session_id)
    lists = {name: run.metrics.get(name) for name in ("fx", "certificates", "faults")}
    fx, certificates = (command_tables.records(lists[name]) for name in ("fx", "certificates"))
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
        "measure": run.metrics.get("measure"),
        "accuracy": {name: rounds[-1][name] if rounds else None for name in EVENTS.values()},
        "by_round": rounds,
        "seconds_per_round": run.metrics.get("seconds_per_round"),
        "fault": run.params.get("fault"),
        "faults": [str(sentence) for sentence in lists["faults"] or ()],
        "certificates": [{name: record.get(name) for name in CERTIFICATE} for record in certificates],
        "fx": [{name: record.get(name) for name in COMMAND} for record in fx],
        "minutes": session.limits.minutes if session.limits.everybody else None,
        **{name: getattr(run, name) for name in FROM_RUN},
        "next": {name: f"workshop federation {name} {run.id}" for name in ("status", "stop")},
    }


def by_round(store: Store, run: RunRecord) -> list[dict[str, Any]]:
    """Return the accuracies of all rounds so far."""
    rounds: dict[int, dict[str, Any]] = {}
    for event in store.events(run.id, tuple(EVENTS), rank=0):
        if event.step is not None:
            empty = {"round": event.step, **dict.fromkeys(EVENTS.values())}
            rounds.setdefault(event.step, empty)[EVENTS[event.name]] = event.value
    return [rounds[number] for number in sorted(rounds)]


def request(backend: str, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the workload and its params for a federation with an OpenFL run's settings. Raises BadInput for another
    backend, for invalid settings, and for a fault or limits that only OpenFL has."""
    if backend not in WORKLOADS:
        raise BadInput(f"There is no backend {backend!r}; it should be {' or '.join(WORKLOADS)}.")
    params: Any = workload("openfl").check(values)
    if backend == "openfl":
        return "openfl", dict(values)
    if params.fault != "none":
        raise BadInput(
            f"--fault {params.fault} needs OpenFL's certificates and processes; leave out --backend session."
        )
    for name in LIMITS:
        if name in values:
            raise BadInput(f"--{name} is for OpenFL's processes; leave it out, or leave out --backend session.")
    return "segmentation" if params.task == "segmentation" else "federated", params.as_federated().model_dump(
        mode="json"
    )
