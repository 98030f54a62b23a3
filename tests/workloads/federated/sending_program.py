"""Runs under mpirun: every way of sending, with updates that are known and in whole federations, and rank 0 writes what
came of it."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from tests.workloads.federated.watched import Watched
from workshop.core.errors import WorkshopError
from workshop.engine.context import Memory, RankContext
from workshop.extension import no_artifacts
from workshop.workloads.federated import WORKLOAD
from workshop.workloads.federated.communication import messages
from workshop.workloads.federated.communication.messages import InstitutionChannel, home
from workshop.workloads.federated.communication.transmission import SecureUplink, uplink
from workshop.workloads.federated.run import Federation

INSTITUTIONS, PARAMETERS, ROUNDS = 6, 700, 3
COUNTS = (10, 20, 40, 80, 160, 320)
CHOSEN = {1: [0, 1, 2, 3, 4, 5], 2: [0, 2, 3, 5], 3: [1, 3, 4, 5]}  # by round
WAYS = {
    "plain": {},
    "silent": {"silent": 1},
    "topk": {"compression": "topk", "keep": 0.1},
    "topk silent": {"compression": "topk", "keep": 0.1, "silent": 2},
    "8bit": {"compression": "8bit"},
    "masks": {"secure": "masks"},
    "masks silent": {"secure": "masks", "silent": 1},
    "unequal": {"secure": "unequal"},
    "unequal silent": {"secure": "unequal", "silent": 1},
}
SMALL = {
    "data": "digits",
    "images": 300,
    "model": "dense",
    "seed": 7,
    "evaluate_images": 100,
    "rate": 0.1,
    "partition": "unequal",
    "institutions": 5,
    "epochs": 2,
    "batch": 8,
    "rounds": 3,
}
RUNS = ("plain", "topk", "8bit", "masks", "unequal")
BESIDE = "8bit"  # the one that has the same without compression beside it
SOME = slice(60_000, 60_010)  # of an update: of a pixel that is not always white


def update(number, institution):
    """What an institution would send in a round, float32 [700]."""
    return np.random.RandomState([number, institution]).randn(PARAMETERS).astype(np.float32)


def packed(vector):
    return None if vector is None else base64.b64encode(np.asarray(vector, np.float64).tobytes()).decode()


def sender(comm, values, counts=COUNTS, made=uplink):
    """`gather` of a line of its own, and that line."""
    params = WORKLOAD.check({"institutions": INSTITUTIONS, "rounds": ROUNDS, "seed": 3, **values})
    line = InstitutionChannel(comm, INSTITUTIONS, PARAMETERS)
    way = made(RankContext(comm, Memory()), line, params)

    def gather(number, chosen, spoiled=None):
        mine = [one for one in chosen if home(one, comm.size) == comm.rank]
        updates = {one: update(number, one) for one in mine}
        for one, value in (spoiled or {}).items():
            if one in updates:
                updates[one][5] = value
        return way.gather(number, updates, {one: counts[one] for one in mine}, chosen)

    return gather, way, line


def gathered(comm, values, counts=COUNTS):
    """All rounds of one way."""
    gather, way, line = sender(comm, values, counts)
    rounds = []
    for number, chosen in CHOSEN.items():
        came = gather(number, chosen)
        drift = None if came.drift is None else came.drift.relative
        rounds.append({"update": packed(came.update), "silent": came.silent, "dropped": came.dropped, "drift": drift})
    return {"rounds": rounds, "told": way.sent.summary(), "bytes": [line.bytes_up, line.bytes_down]}


def left_out(comm):
    """Updates that can't be masked, and a round in which one alone is left."""
    gather, way, _ = sender(comm, {"secure": "masks"})
    found = []
    for number, spoiled in enumerate(({2: np.nan}, {0: np.inf, 3: 1e6}, dict.fromkeys(range(5), np.nan)), 1):
        came = gather(number, CHOSEN[1], spoiled)
        found.append({"update": packed(came.update), "dropped": came.dropped})
    return {"rounds": found, "told": way.sent.summary()}


def tampered(comm):
    """One institution masks otherwise than was agreed, in the second round."""

    def made(ctx, line, params):
        return SecureUplink(ctx, line, params, lambda institution: 1000 + institution)

    gather, way, _ = sender(comm, {"secure": "masks"}, made=made)
    good = gather(1, CHOSEN[1])
    if 3 in way.members:
        right = way.members[3].seed
        way.members[3].seed = lambda other, number: right(other, number + (other == 4))
    try:
        gather(2, CHOSEN[1])
    except WorkshopError as error:
        return {"good": packed(good.update), "error": str(error)}
    return {"good": packed(good.update), "error": ""}


def learned(comm, name):
    """A whole federation, with all that ranks hand to MPI: sizes, calls, and how often somebody's image, label, update
    or unmasked number is in it."""
    over, sink = Watched(comm), Memory()
    params = WORKLOAD.check(SMALL | WAYS[name] | {"beside": name == BESIDE})
    made = Federation(RankContext(over, sink, WORKLOAD.inputs(params, no_artifacts)), params)
    secrets = private(made)
    way = made.ways[0]
    honest = way.uplink.gather

    def gather(number, updates, counts, chosen):
        for one, vector in updates.items():
            secrets.append(vector[SOME].tobytes())
            whole = np.rint(vector[SOME].astype(np.float64) * counts[one] * 2**30)
            secrets.append(whole.astype(np.int64).tobytes())
        return honest(number, updates, counts, chosen)

    way.uplink.gather = gather
    made.rounds()
    metrics = made.finish()
    parameters = made.parameters
    return {
        "metrics": metrics,
        "told": way.uplink.sent.summary(),
        "known": sink.metrics.get("sending"),
        "end": packed(way.model),
        "calls": comm.allgather(sorted({call for call, _ in over.sent})),
        "sizes": comm.allgather(sorted({len(data) for call, data in over.sent if call in ("Send", "Bcast")})),
        "leaks": comm.allgather(sum(one in data for _, data in over.sent for one in secrets if len(data) >= len(one))),
        "moved": comm.allgather([over.arrays, sum(line.moved for line in made.channels.values())]),
        "declared": sorted(
            {len(kind.empty(parameters).tobytes()) for kind in (*messages.KINDS, *kinds(way.uplink, parameters))}
        ),
        "parameters": parameters,
        "phases": sorted({event for _, event, _, _ in sink.events if event.startswith("time.")}),
    }


def kinds(way, parameters):
    if isinstance(way, SecureUplink):
        many = SMALL["institutions"]
        return messages.public_keys(many), messages.missing(many), messages.masked(parameters)
    return way.codec.kinds


def private(made):
    """Bytes that no message may hold: rows of pixels of an institution's first images, and of labels."""
    found = []
    for silo in made.ways[0].rank.silos.values():
        found += [one[8:20].tobytes() for one in silo.images[:5]]
        found += [np.rint(255 * one[8:20]).astype(np.uint8).tobytes() for one in silo.images[:5]]
        found += [silo.labels[:12].astype(kind).tobytes() for kind in ("uint8", "int32", "int64")]
    return found


def main():
    comm = MPI.COMM_WORLD
    found = {"ways": {name: gathered(comm, values) for name, values in WAYS.items()}}
    found["equal"] = gathered(comm, WAYS["unequal"], [30] * INSTITUTIONS)
    found["left out"] = left_out(comm)
    found["tampered"] = tampered(comm)
    found["runs"] = {name: learned(comm, name) for name in RUNS}
    if comm.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
