"""One federation, two engines: the same settings as params of the workload that runs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core.errors import BadInput
from workshop.registry import workload

WORKLOADS: Mapping[str, str] = {"openfl": "openfl", "session": "federated"}  # of backends
BACKENDS: Mapping[str, str] = {name: backend for backend, name in WORKLOADS.items()}  # of workloads
LIMITS = ("patience", "limit")  # settings that say for how long OpenFL's processes are waited for


def request(backend: str, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The workload and its params for a federation with the settings of an OpenFL run.

    Raises BadInput for another backend, for settings that can't be, for a fault that only OpenFL can have (our own
    ranks have no certificates, and end together), and for limits of its processes.
    """
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
