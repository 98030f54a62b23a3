"""What many institutions cost on this machine's few ranks: the same images dealt to 2 up to 64 of them.

Each turn has new ranks, so that none inherits the memory of another. Ratios of the most institutions to the fewest:
`memory_64_vs_2` compares the largest rank's memory, `cost_64_vs_2` the seconds of a round.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import Document, document, interleaved, machine, ratio, row
from benchmarks.processes import completed, own_state
from workshop.core import topology
from workshop.core.errors import BadInput
from workshop.core.placement import Placement, default_for
from workshop.sessions.lifecycle import private_session
from workshop.store.store import Store
from workshop.workloads.mnist.data.images import digits_file

# Institutions train on four fifths of their images and validate with the rest: up to 64 institutions have full batches
# of 32, so that any number of institutions takes the same number of steps in a round.
IMAGES, BATCH, VALIDATION = 5120, 32, 0.2
ROUNDS = 4  # the first one, which compiles, doesn't count
PACKAGES = ("tensorflow-cpu", "keras", "openmpi", "mpi4py", "ipyparallel")


def run(repeats: int = 3, institutions: tuple[int, ...] = (2, 4, 8, 16, 32, 64), images: int = IMAGES) -> Document:
    """Measure; returns the document. Raises WorkshopError."""
    if uneven := [number for number in institutions if images % number]:
        raise BadInput(f"{images} images can't be dealt evenly to {uneven[0]} institutions.")
    with own_state() as folder, Store.open() as store:
        where = machine(PACKAGES)
        placement = default_for(topology.allowed_cores(where))
        turns = {
            str(number): partial(_turn, store, placement, params(number, images, folder)) for number in institutions
        }
        results = interleaved(turns, repeats, warm_up=0)  # every turn starts new ranks
    rows = []
    seconds = {name: [answer["seconds_per_round"] for answer in answers] for name, answers in results.items()}
    memory = {name: [float(max(answer["memory"])) for answer in answers] for name, answers in results.items()}
    for name in results:
        facts = {"institutions": int(name), "ranks": placement.ranks, "images": images}
        rows.append(row(f"institutions_{name}_round", seconds[name], "s", **facts))
        rows.append(row(f"institutions_{name}_memory", memory[name], "bytes of the largest rank", **facts))
    few, many = str(min(institutions)), str(max(institutions))
    if many != few:
        rows.append(ratio(f"memory_{many}_vs_{few}", memory[many], memory[few]))
        rows.append(ratio(f"cost_{many}_vs_{few}", seconds[many], seconds[few]))
    return document({**where, "placement": placement.describe()}, rows)


def params(institutions: int, images: int, folder: Path) -> dict[str, Any]:
    """The params of a federation with so many institutions on the same images: the digits, repeated."""
    return {
        "data": str(digits_file(folder, images)),
        "partition": "iid",
        "validation": VALIDATION,
        "batch": BATCH,
        "epochs": 1,
        "institutions": institutions,
        "rounds": ROUNDS,
        "evaluate_images": None,
    }


def _turn(store: Store, placement: Placement, params: dict[str, Any]) -> dict[str, Any]:
    with private_session(store, placement) as session:
        return dict(completed(store, session, "federated", params).metrics or {})
