"""Runs that lose a rank against runs that lose none: how many go on, how fast, and with which accuracy.

Each kill is a real SIGKILL and has a run of its own. Step and rank are random; rank 0 is killed, too. A run without
a kill comes with every few others, in the same round and from the same seed.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from workshop import bench
from workshop.bench.crew import once
from workshop.core import topology, words
from workshop.core.errors import WorkshopError
from workshop.core.patience import patient
from workshop.core.placement import Placement
from workshop.mpi import openmpi
from workshop.workloads.elastic import WORKLOAD
from workshop.workloads.elastic.kills import Kill

RANKS = 3
ROUND = 5  # kills of a round, which has one run without a kill
IMAGES, BATCH, EPOCHS = 1437, 16, 15  # all digits that aren't held out; a step of 3 ranks reads 48
STEPS = EPOCHS * -(-IMAGES // (BATCH * RANKS))
SECONDS = 60.0  # of an idle machine, after which a run doesn't count as survived; it takes about ten
UNDISTURBED = "no kill"
PACKAGES = ("tensorflow-cpu", "keras", "openmpi", "mpi4py")
TIMES = ("noticed_seconds", "repair_seconds", "next_step_seconds")

Answer = dict[str, Any]


def run(kills: int = 100, seed: int = 0, progress: bench.Progress = lambda done, total: None) -> dict[str, Any]:
    """Measure, while the caller holds the machine for measuring; returns the bench as JSON. `kills` is rounded up to
    whole rounds. Raises WorkshopError where a run fails that has lost nobody.

    Ratios: `survived`, the share of killed runs that went on to their end with all other ranks, each image read once in
    each epoch, and the same weights everywhere; `median_seconds_to_next_step` and `worst_seconds_to_next_step`, from
    the last whole step before a kill to the end of the next one, of runs that survived; `accuracy_difference`, by how
    many percentage points the held-out accuracy of a run differs from that without a kill in its round, on average.
    """
    draw = random.Random(seed)
    per_round = min(kills, ROUND)
    rounds = -(-kills // per_round)
    planned = iter([Kill(draw.randrange(RANKS), draw.randint(1, STEPS)) for _ in range(rounds * per_round)])
    seeds = [draw.randrange(2**31) for _ in range(rounds)]
    where = bench.machine(PACKAGES)
    placement = Placement(ranks=RANKS, threads=1, oversubscribe=True, bind_to="none")
    contenders: dict[str, Callable[[], Answer]] = {UNDISTURBED: _turns(placement, where, iter(seeds), iter(()))}
    for number in range(1, per_round + 1):
        contenders[f"kill {number}"] = _turns(placement, where, iter(seeds), planned)
    results = bench.interleaved(contenders, rounds, progress, warm_up=0)
    return _document({**where, "placement": placement.describe()}, results)


def _turns(
    placement: Placement, where: dict[str, Any], seeds: Iterator[int], kills: Iterator[Kill]
) -> Callable[[], Answer]:
    """The turns of a contender, each with the next seed and the next kill, if there is one."""
    cores = topology.allowed_cores(where)
    variables = placement.rank_environment() | openmpi.environment()
    tolerant, changes = openmpi.tolerance(variables)
    ranks = [openmpi.launcher(), *tolerant, "-n", str(RANKS), *openmpi.arguments(placement, cores)]
    params = {"data": "digits", "model": "dense", "batch": BATCH, "epochs": EPOCHS, "checkpoint-every": 0}

    def turn() -> Answer:
        kill = next(kills, None)
        chosen = {**params, "seed": next(seeds), "kill": f"{kill.rank}@step:{kill.step}" if kill else ""}
        options = [word for name, value in chosen.items() for word in (f"--{name}", str(value))]
        command = [*ranks, sys.executable, "-m", "workshop.engine", WORKLOAD.name, *options]
        name = f"The run with kill {chosen['kill']}" if kill else "The run without a kill"
        try:
            answer = once(name, command, os.environ | variables | changes, patient(SECONDS))
        except WorkshopError as error:
            if kill is None:
                raise
            return {"kill": kill, "failure": str(error)}
        return {"kill": kill, "failure": _failure(name, kill, answer["metrics"]), **answer["metrics"]}

    return turn


def _failure(name: str, kill: Kill | None, metrics: Mapping[str, Any]) -> str:
    """Why a run that has ended doesn't count as survived; "" if it does."""
    lost = [loss["rank"] for loss in metrics["losses"]]
    planned = [kill.rank] if kill else []
    survivors = [rank for rank in range(RANKS) if rank not in planned]
    if lost != planned or metrics["ranks"] != survivors:
        who = words.numbered("rank", lost) if lost else "no rank"
        return f"{name} lost {who}, and ended with {words.numbered('rank', metrics['ranks'])}."
    if not metrics["exactly_once"] or metrics["images_read"] != EPOCHS * IMAGES:
        return f"{name} read images twice or left some out."
    return "" if metrics["same_weights"] else f"{name} ended with different weights on its ranks."


def _document(where: Mapping[str, Any], results: Mapping[str, Sequence[Answer]]) -> dict[str, Any]:
    """The bench of each contender's turns, one a round; those without a kill are under `UNDISTURBED`. Raises
    WorkshopError where no killed run survived, or where a run without a kill is not as it should be."""
    undisturbed = results[UNDISTURBED]
    for answer in undisturbed:
        if answer["failure"]:
            raise WorkshopError(f"{answer['failure']} Without it there is nothing to compare with; measure again.")
    killed = [answer for name, answers in results.items() if name != UNDISTURBED for answer in answers]
    pairs = [
        (answer, calm)
        for name, answers in results.items()
        if name != UNDISTURBED
        for answer, calm in zip(answers, undisturbed, strict=True)
        if not answer["failure"]
    ]
    failures = [answer["failure"] for answer in killed if answer["failure"]]
    if not pairs:
        raise WorkshopError(f"No killed run survived: {failures[0]}")
    times = {name: [answer["losses"][0][name] for answer, _ in pairs] for name in TIMES}
    after = times["next_step_seconds"]
    accuracies = {
        "accuracy_undisturbed": [100 * answer["held_out_accuracy"] for answer in undisturbed],
        "accuracy_survived": [100 * answer["held_out_accuracy"] for answer, _ in pairs],
    }
    differences = [100 * (answer["held_out_accuracy"] - calm["held_out_accuracy"]) for answer, calm in pairs]
    rows = [
        {"name": "runs_killed", "value": len(killed), "unit": f"runs of {RANKS} ranks, each with one kill"},
        {
            "name": "rank_0_killed",
            "value": sum(answer["kill"].rank == 0 for answer in killed),
            "unit": "of these runs",
        },
        *(bench.row(name, values, "s") for name, values in times.items()),
        *(bench.row(name, values, "% of held-out images") for name, values in accuracies.items()),
        bench.row("accuracy_change", differences, "percentage points, against no kill"),
        *(bench.missing(f"not survived {number}", "", why) for number, why in enumerate(failures, 1)),
    ]
    ratios = {
        "survived": len(pairs) / len(killed),
        "median_seconds_to_next_step": statistics.median(after),
        "worst_seconds_to_next_step": max(after),
        "accuracy_difference": abs(statistics.mean(differences)),
    }
    return bench.document("faults", where, rows, ratios)
