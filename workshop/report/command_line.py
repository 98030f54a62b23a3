"""Commands as words: what to type for a run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from workshop.core.placement import Placement
from workshop.extension import Workload


def options_of(placement: Placement) -> list[str]:
    """The options that ask for a placement; hosts are a session's own."""
    plain = Placement()
    words = ["--ranks", str(placement.ranks)]
    for name in ("map_by", "per_resource", "cores_per_rank", "bind_to", "threads", "mpi"):
        if (value := getattr(placement, name)) != getattr(plain, name):
            words += [f"--{name.replace('_', '-')}", str(value)]
    words += ["--oversubscribe"] if placement.oversubscribe else []
    return words + [word for name, value in placement.environment.items() for word in ("--env", f"{name}={value}")]


def run_command(workload: Workload, params: Mapping[str, Any], placement: Placement) -> str:
    """The command that runs a workload with these params and this placement; params at their defaults are left out."""
    hosts = ",".join(f"{host.name}:{host.slots}" for host in placement.hosts)
    words = ["workshop", "run", workload.name, *params_of(workload, params), *options_of(placement)]
    return shlex.join([*words, *(["--hosts", hosts] if hosts else [])])


def params_of(workload: Workload, params: Mapping[str, Any]) -> list[str]:
    """The options that ask for params, in the workload's order; those at their defaults are left out."""
    words = []
    for name, field in workload.params.model_fields.items():
        value = params.get(name)
        if name not in params or value is None or value == field.default:
            continue
        words += option_of(name, value)
    return words


def option_of(name: str, value: Any) -> list[str]:
    """The option that sets one param."""
    return [f"--{name.replace('_', '-')}", ("no", "yes")[value] if isinstance(value, bool) else str(value)]
