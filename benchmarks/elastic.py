"""Runs that lose a rank against runs that lose none: how many go on, how soon, and with which accuracy.

Each kill is a real SIGKILL and has a run of its own. Step and rank are random; rank 0 is killed, too. Every few kills
have a run without a kill beside them, from the same seed.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import Document, document, machine, missing, row, say
from benchmarks.processes import once
from workshop.core import topology
from workshop.core.errors import WorkshopError
from workshop.core.patience import patient
from workshop.core.placement import Placement
from workshop.mpi import openmpi
from workshop.workloads.elastic.kills import Kill

RANKS = 3
ROUND = 5  # kills of a round, which has one run without a kill
IMAGES, BATCH, EPOCHS = 1437, 16, 15  # all digits that aren't held out; a step of 3 ranks reads 48
STEPS = EPOCHS * -(-IMAGES // (BATCH * RANKS))
SECONDS = 60.0  # of an idle machine, after which a run doesn't count as survived; it takes about ten
TIMES = ("noticed_seconds", "repair_seconds", "next_step_seconds")
Answer = dict[str, Any]


def run(kills: int = 40, seed: int = 1) -> Document:
    """Measure; returns the document. Raises WorkshopError where a run fails that has lost nobody."""
    where = machine(("tensorflow-cpu", "keras", "openmpi", "mpi4py"))
    placement = Placement(ranks=RANKS, threads=1, oversubscribe=True, bind_to="none")
    draw, pairs = random.Random(seed), []
    for number in range(kills):
        if number % ROUND == 0:
            training_seed = draw.randrange(2**31)
            calm = _run(placement, training_seed, None)
            if calm["failure"]:
                raise WorkshopError(f"The run without a kill {calm['failure']}, so there is nothing to compare with.")
        kill = Kill(draw.randrange(RANKS), draw.randint(1, STEPS))
        pairs.append((_run(placement, training_seed, kill), calm))
        say(f"Kill {number + 1} of {kills}: {pairs[-1][0]['failure'] or 'went on'}.")
    return told({**where, "placement": placement.describe()}, pairs)


def _run(placement: Placement, seed: int, kill: Kill | None) -> Answer:
    """A run's metrics, with its `kill`, and with its `failure` as the end of a sentence."""
    variables = placement.rank_environment() | openmpi.environment()
    tolerant, changes = openmpi.tolerance(variables)
    options = openmpi.arguments(placement, topology.allowed_cores(topology.machine()))
    params = {"data": "digits", "model": "dense", "batch": BATCH, "epochs": EPOCHS, "checkpoint-every": 0, "seed": seed}
    params["kill"] = f"{kill.rank}@step:{kill.step}" if kill else ""
    words = [word for name, value in params.items() for word in (f"--{name}", str(value))]
    command = [openmpi.launcher(), *tolerant, "-n", str(RANKS), *options, sys.executable, "-m", "workshop.engine"]
    try:
        answer = once("elastic", [*command, "elastic", *words], os.environ | variables | changes, patient(SECONDS))
    except WorkshopError as error:
        return {"kill": kill, "failure": str(error)}
    return {"kill": kill, "failure": failure(kill, answer["metrics"]), **answer["metrics"]}


def failure(kill: Kill | None, metrics: Mapping[str, Any]) -> str:
    """Why a run that has ended doesn't count as survived; "" if it does."""
    planned = [kill.rank] if kill else []
    lost = [loss["rank"] for loss in metrics["losses"]]
    if lost != planned or metrics["ranks"] != [rank for rank in range(RANKS) if rank not in planned]:
        return f"lost the ranks {lost} instead of {planned}, and ended with the ranks {metrics['ranks']}"
    if not metrics["exactly_once"] or metrics["images_read"] != EPOCHS * IMAGES:
        return "read images twice or left some out"
    return "" if metrics["same_weights"] else "ended with different weights on its ranks"


def told(where: Mapping[str, Any], pairs: Sequence[tuple[Answer, Answer]]) -> Document:
    """The document of runs with a kill, each with the run without one. Raises WorkshopError where none survived.

    Ratios: `survived`, the share of killed runs that went on to their end with all other ranks, each image read once in
    each epoch, and the same weights everywhere; `median_seconds_to_next_step` and `worst_seconds_to_next_step`, from
    the last whole step before a kill to the end of the next one; `accuracy_difference`, by how many percentage points
    the held-out accuracy differs from that without a kill, on average.
    """
    failures = [answer["failure"] for answer, _ in pairs if answer["failure"]]
    survived = [(answer, calm) for answer, calm in pairs if not answer["failure"]]
    if not survived:
        raise WorkshopError(f"No killed run survived; the first {failures[0]}.")
    times = {name: [answer["losses"][0][name] for answer, _ in survived] for name in TIMES}
    after = times["next_step_seconds"]
    accuracies = [(100 * answer["held_out_accuracy"], 100 * calm["held_out_accuracy"]) for answer, calm in survived]
    differences = [one - other for one, other in accuracies]
    first = sum(answer["kill"].rank == 0 for answer, _ in pairs)
    rows = [
        {"name": "runs_killed", "value": len(pairs), "unit": f"runs of {RANKS} ranks, each with one kill"},
        {"name": "rank_0_killed", "value": first, "unit": "of these runs"},
        *(row(name, values, "s") for name, values in times.items()),
        row("accuracy_survived", [one for one, _ in accuracies], "% of held-out images"),
        row("accuracy_undisturbed", [other for _, other in accuracies], "% of held-out images"),
        row("accuracy_change", differences, "percentage points, against no kill"),
        *(missing(f"not survived {number}", "", f"It {why}.") for number, why in enumerate(failures, 1)),
    ]
    figures = {
        "survived": len(survived) / len(pairs),
        "median_seconds_to_next_step": statistics.median(after),
        "worst_seconds_to_next_step": max(after),
        "accuracy_difference": abs(statistics.mean(differences)),
    }
    return document(where, rows, figures)
