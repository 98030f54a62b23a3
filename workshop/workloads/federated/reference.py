"""Which ways of learning a run goes, and with which params each: those that were asked for, and beside an attack, a
defence or compression the same federation without it, to see what it changes."""

from __future__ import annotations

from workshop.workloads.federated.params import Learning

THREE = ("federated", "centralised", "alone")
PLAIN, UNDEFENDED, WHOLE = "plain", "undefended", "whole"  # federated, too


def ways(params: Learning) -> dict[str, Learning]:
    """By name, the first one first: `plain` is without attack, robust rule and privacy, `undefended` with the attack
    alone; neither where it would be the same as another one. `whole` is without compression."""
    found = dict.fromkeys(THREE if params.way == "all" else (params.way,), params)
    if params.guarded and params.beside and "federated" in found:
        found[PLAIN] = _with(params, attack="none", rule="mean", privacy="none")
        undefended = _with(params, rule="mean", privacy="none")
        if params.attacked and undefended != params:
            found[UNDEFENDED] = undefended
    if params.compression != "none" and params.beside and "federated" in found:
        found[WHOLE] = _with(params, compression="none")
    return found


def _with(params: Learning, **changes: str) -> Learning:
    return params.model_copy(update=changes)
