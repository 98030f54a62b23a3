"""A new rank's program, which members of a run start in place of a lost rank: `python -m` this module.

It prepares itself while the others train, reports that it is ready, and joins when they call it. It ends with mpirun,
and where the others go on without it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from workshop.core.parent_death import end_with_parent
from workshop.core.patience import patient
from workshop.mpi import openmpi

if TYPE_CHECKING:
    from workshop.workloads.elastic.communicator import Membership

PATIENCE = 60.0  # seconds for the first message, and for the last one
EPOCH = 3600.0  # seconds that an epoch of the others may take
END = 20.0  # seconds for an end in good order


def main() -> int:
    end_with_parent(os.getppid())
    openmpi.prepare()
    signal.alarm(round(patient(PATIENCE)))  # MPI_Init would wait for ever if the first member is lost meanwhile
    from mpi4py import MPI

    from workshop.workloads.elastic.communicator import (
        ORDER,
        PAUSE,
        REPORT,
        WORD,
        Membership,
        connect,
        is_wanted,
        merge,
        receive,
    )

    members = merge(MPI.Comm.Get_parent(), high=True)
    signal.alarm(0)
    order = receive(members, ORDER, PATIENCE)
    if order is None:
        _end_alone()
    # TensorFlow takes seconds, in which the members must not wait, and this rank has to notice if they go on without
    # it. Only a process that calls MPI hears of that.
    with ThreadPoolExecutor(1) as pool:
        prepared = pool.submit(_prepare, order)
        while not prepared.done():
            if not is_wanted(members):
                _end_alone()
            wait([prepared], PAUSE)
    training = prepared.result()
    try:
        members.send(None, dest=0, tag=REPORT)
        joins = receive(members, WORD, EPOCH)
        if joins is None:
            _end_alone()
        if not joins:
            members.Free()
            return 0
        comm = merge(connect(MPI.COMM_WORLD, members, 0), high=True)
    except MPI.Exception:
        MPI.COMM_WORLD.Revoke()  # other new ranks may wait for this one
        _end_alone()
    if receive(members, WORD, PATIENCE) is None:
        # Perhaps the members count on this rank. They notice that it is lost only if it doesn't end in good order.
        os.kill(os.getpid(), signal.SIGKILL)
    members.Free()
    membership = Membership(comm, order["number"], tolerant=True)
    _train(training, membership, order)
    signal.alarm(round(patient(END)))  # MPI_Finalize may wait for a rank that is lost
    with suppress(MPI.Exception):
        membership.comm.Free()
    return 0


def _prepare(order: Mapping[str, Any]) -> Any:
    """The training of this rank, without other ranks."""
    from workshop.workloads.elastic import ElasticParams
    from workshop.workloads.elastic.run import ElasticTraining

    return ElasticTraining(ElasticParams(**order["params"]), order["inputs"], order["ranks"])


def _end_alone() -> NoReturn:
    """End in good order where the members have gone on without this rank: mpirun fails if one of its processes ends
    otherwise."""
    from mpi4py import MPI

    signal.alarm(round(patient(END)))  # MPI_Finalize may wait for a rank that is lost
    MPI.Finalize()
    os._exit(0)  # also while a thread still imports libraries


def _train(training: Any, membership: Membership, order: dict[str, Any]) -> None:
    """Train as a member, and tell events under the number of the lost rank."""
    from mpi4py import MPI

    from workshop.engine import failure, host
    from workshop.engine.__main__ import tell_result
    from workshop.engine.context import RankContext
    from workshop.engine.reporter import Reporter

    if order["run"] is None:
        ctx = RankContext(membership.comm, inputs=order["inputs"])
        tell_result(ctx, "elastic", order["ranks"], training.join(ctx, membership))
        with suppress(MPI.Exception):
            ctx.comm.Agree(1)  # as the others do before they `leave`
        return
    reporter = Reporter(json.loads(Path(os.environ[host.CHANNEL]).read_text()), order["number"])
    reporter.begin(order["run"], order["lives"].count(order["number"]))
    ctx = RankContext(membership.comm, reporter, order["inputs"])
    word: dict[str, Any]
    try:
        metrics = training.join(ctx, membership)
        word = {"kind": "finished", "metrics": metrics if ctx.rank == 0 else {}}
    except Exception as error:
        word = {"kind": "failed", **failure.described(error, order["number"], order["ranks"])}
    reporter.threads.look()
    reporter.end({**word, "threads": reporter.threads.as_json(), "core": ctx.core.as_json()})
    reporter.close()


if __name__ == "__main__":
    sys.exit(main())
