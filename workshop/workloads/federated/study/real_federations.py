"""Runs of a real federation with the same settings, to stand beside our own. Pure but for `peers`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from workshop.core.forms import applies
from workshop.extension import Params
from workshop.registry import workloads
from workshop.report.analysis.scores import number
from workshop.report.command_line import params_of
from workshop.store.records import Event, RunRecord
from workshop.store.store import Store
from workshop.study.grid.seeds import SEED
from workshop.workloads.federated.study.results import ON, Curve, came_to, curve, curves_of, names

OPENFL = "openfl"
OURS = "federated"  # the workload whose runs compare with its runs
SAME = {"collaborators": "institutions"}  # the other's word for ours
FAULT, NONE = "fault", "none"
APART = ("way", SEED)  # settings of ours in which they may differ
LOOKED = 50  # of its newest runs
MEASURE = "accuracy"


@dataclass(frozen=True)
class Peer:
    """A real federation: its scores (0 to 1) at its end, and by round as far as it is."""

    run: int
    seed: int
    ended: bool
    scores: Mapping[str, float]  # held_out, own; none while it goes on
    curves: Mapping[str, Curve]

    def as_json(self) -> dict[str, Any]:
        return {"run": self.run, "seed": self.seed, "ended": self.ended, **{on: self.scores.get(on) for on in ON}}


def peers(store: Store, workload: str, params: Mapping[str, Any]) -> list[Peer]:
    """The real federations with a study's settings, those that go on among them, the oldest first."""
    known = workloads()
    if workload != OURS or OPENFL not in known or OURS not in known:
        return []
    found = []
    for run in store.runs(workload=OPENFL, limit=LOOKED):
        if run.status in ("completed", "running") and alike(params, run.params, known[OURS].params):
            wanted = {names(MEASURE)[OURS, on]: on for on in ON}
            told = store.events(run.id, wanted, rank=0) if run.status == "running" else ()
            if (peer := _peer(run, told, wanted)) is not None:
                found.append(peer)
    return found[::-1]


def alike(ours: Mapping[str, Any], theirs: Mapping[str, Any], model: type[Params]) -> bool:
    """Whether a real federation has the same settings, except for the seed: what only ours can set is as it is by
    default in `model`, and nothing was broken on purpose."""
    if theirs.get(FAULT, NONE) != NONE:
        return False
    renamed = {SAME.get(name, name): value for name, value in theirs.items()}
    if "institutions" not in renamed or "rounds" not in renamed:
        return False
    for name, field in model.model_fields.items():
        if name in APART or name not in ours:
            continue
        if ours[name] != renamed.get(name, field.get_default(call_default_factory=True)) and applies(field, ours):
            return False
    return True


def start_command(params: Mapping[str, Any]) -> str:
    """The command that runs a real federation with a study's settings, as far as it has them."""
    known = workloads().get(OPENFL)
    theirs = {SAME.get(name, name): name for name in (known.params.model_fields if known else ())}
    given = {theirs[name]: value for name, value in params.items() if name in theirs}
    options = params_of(known, given) if known else []
    return shlex.join(["workshop", "federation", "start", "--backend", OPENFL, *options])


def _peer(run: RunRecord, events: Iterable[Event], wanted: Mapping[str, str]) -> Peer | None:
    seed, told = int(run.params.get(SEED) or 0), came_to(run, OURS)
    if run.status == "running":
        return Peer(run.id, seed, False, {}, curves_of(events, wanted))
    scores = {on: float(value) for on in ON if number(value := told.get(f"{on}_score"))}
    return Peer(run.id, seed, True, scores, {on: curve(told.get(on)) for on in ON}) if ON[0] in scores else None
