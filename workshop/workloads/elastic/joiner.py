"""A new rank's program, which members of a run start in place of a lost rank: `python -m` this module.

It prepares itself while the others train, reports that it is ready, and joins when they call it. It ends with mpirun,
and where the others go on without it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

from mpi4py import MPI

from workshop.core.parent_death import end_with_parent
from workshop.workloads.elastic.communicator import ORDER, REPORT, WORD, Membership, receive

PATIENCE = 60.0  # seconds for the first message
EPOCH = 3600.0  # seconds that an epoch of the others may take


def main() -> int:
    end_with_parent(os.getppid())
    members = MPI.Comm.Get_parent()
    members.Set_errhandler(MPI.ERRORS_RETURN)
    order = receive(members, ORDER, PATIENCE)
    if order is None:
        _end_alone()
    # TensorFlow takes seconds, for which the members must not wait.
    from workshop.workloads.elastic import ElasticParams
    from workshop.workloads.elastic.run import ElasticTraining

    training = ElasticTraining(ElasticParams(**order["params"]), order["inputs"], order["ranks"])
    try:
        members.send(None, dest=0, tag=REPORT)
        joins = receive(members, WORD, EPOCH)
        if joins is None:
            _end_alone()
        if not joins:
            members.Disconnect()
            return 0
        comm = members.Merge(high=True)
        members.Free()
    except MPI.Exception:
        _end_alone()
    _train(training, comm, order)
    return 0


def _end_alone() -> NoReturn:
    """End where the members have gone on without this rank. MPI_Finalize would wait for those that are lost."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit(1)


def _train(training: Any, comm: Any, order: dict[str, Any]) -> None:
    """Train as a member, and tell events under the number of the lost rank."""
    from workshop.engine import failure, host
    from workshop.engine.__main__ import tell_result
    from workshop.engine.context import RankContext
    from workshop.engine.reporter import Reporter

    membership = Membership(comm, order["number"], tolerant=True)
    if order["run"] is None:
        ctx = RankContext(comm, inputs=order["inputs"])
        tell_result(ctx, "elastic", order["ranks"], training.join(ctx, membership))
        return
    reporter = Reporter(json.loads(Path(os.environ[host.CHANNEL]).read_text()), order["number"])
    reporter.begin(order["run"], order["lives"].count(order["number"]))
    ctx = RankContext(comm, reporter, order["inputs"])
    word: dict[str, Any]
    try:
        metrics = training.join(ctx, membership)
        word = {"kind": "finished", "metrics": metrics if ctx.rank == 0 else {}}
    except Exception as error:
        word = {"kind": "failed", **failure.described(error, order["number"], order["ranks"])}
    reporter.threads.look()
    reporter.end({**word, "threads": reporter.threads.as_json()})
    reporter.close()


if __name__ == "__main__":
    sys.exit(main())
