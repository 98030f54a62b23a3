"""The client's side of a session: submit runs, wait for them, cancel them. Never touches MPI."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from workshop import mpi
from workshop.core import processes
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.forms import is_run_number, param_of_runs
from workshop.core.placement import POLLING, THREAD_VARIABLES, Placement
from workshop.extension import Artifacts, Workload
from workshop.mpi.implementations import implementation, read_placement
from workshop.mpi.tool_interface import COUNTING
from workshop.registry import workload
from workshop.report.sentences import rest_words, waits_for
from workshop.report.verdict import verdict
from workshop.sessions import measurement_lock
from workshop.sessions.launchers import site
from workshop.store.records import Identity, Limits, RunRecord, SessionRecord
from workshop.store.sessions import refuse_in
from workshop.store.store import Store

# What a learner may set on ranks: knobs of threads and libraries, nothing that names a file, loads or starts anything.
# How many threads there are is the placement's own field, which has a limit; the same one holds for the variables.
LEARNERS_VARIABLES = frozenset(
    [
        "OMP_PROC_BIND",
        "OMP_PLACES",
        "OMP_SCHEDULE",
        "OMP_DYNAMIC",
        "OMP_WAIT_POLICY",
        "KMP_AFFINITY",
        "KMP_BLOCKTIME",
        "KMP_SETTINGS",
        "GOMP_SPINCOUNT",
        "HOROVOD_FUSION_THRESHOLD",
        "HOROVOD_CYCLE_TIME",
        "HOROVOD_CACHE_CAPACITY",
        "TF_ENABLE_ONEDNN_OPTS",
        "TF_ENABLE_XLA",
        "I_MPI_PIN",
        "I_MPI_PIN_DOMAIN",
        "I_MPI_PIN_ORDER",
        POLLING,
        *COUNTING,
    ]
)
SESSION = 1.0  # seconds between looks at the session of a run that somebody waits for
LOOK, SELDOM = 0.1, 0.5  # seconds between looks at a run that somebody waits for: at first, after some seconds
REVIVED = 20.0  # seconds that a session may seem lost before nobody waits for its runs any longer


def placement_in(
    session: SessionRecord | None, asked_placement: Mapping[str, Any] | None = None, at: Mapping[str, Any] = site.LOCAL
) -> Placement:
    """A run's placement in a session (None: one that starts later at that site): the given one, or the session's own.
    Without hosts it gets the session's. Raises BadInput for a placement that can't be read or can't run there."""
    usual = session.placement if session else {}
    values = {**(asked_placement if asked_placement is not None else usual)}
    if not values.get("hosts"):
        values["hosts"] = usual.get("hosts", ())
    placement = read_placement(values)
    site.check(session.site if session else at, placement)
    return placement


_COUNT = re.compile(r"[1-9][0-9]{0,5}")  # a number of threads


def check_limits(placement: Placement, limits: Limits, processes: int = 0) -> None:
    """Refuse what the instructor's limits don't allow a learner; `processes` are the run's processes beside its ranks.
    Raises BadInput."""
    if processes and placement.ranks + processes > limits.ranks:
        raise BadInput(
            f"The run would have {placement.ranks + processes} processes, {processes} of them beside its ranks: this "
            f"session allows at most {limits.ranks}."
        )
    if placement.ranks > limits.ranks:
        raise BadInput(f"ranks is {placement.ranks}: this session allows at most {limits.ranks}.")
    if placement.threads_per_rank > limits.threads:
        raise BadInput(
            f"threads is {placement.threads_per_rank} per rank: this session allows at most {limits.threads}."
        )
    for name, value in placement.environment.items():
        if name in THREAD_VARIABLES:
            if not _COUNT.fullmatch(value) or int(value) > limits.threads:
                raise BadInput(f"{name} is {value:.60}: this session allows 1 to {limits.threads} threads per rank.")
        elif name not in LEARNERS_VARIABLES:
            raise BadInput(f"Learners can't set {name}, only {', '.join(sorted(LEARNERS_VARIABLES))}.")


def submit(
    store: Store,
    session: SessionRecord,
    name: str,
    values: Mapping[str, Any],
    placement: Mapping[str, Any] | None = None,
    *,
    identity: Identity | None = None,
    measured: bool = False,
    public_params: Mapping[str, str] | None = None,
    trial: tuple[int, int] | None = None,
) -> RunRecord:
    """Put a run into a session's queue, after all checks that are possible beforehand. Raises BadInput.

    `identity` is the person in the dashboard, None for the command line; a learner's run has to stay within the
    session's limits. Files that params name are read here, with the caller's rights. `shown` are params in the form in
    which the run keeps them, for values that mean nothing to others, such as the path of an uploaded file. `trial` is
    the study and the number of the trial whose run this is.
    """
    refuse_in(store.database)
    if session.state in ("stopped", "failed"):
        start = f"start it first (workshop session start {session.name})"
        raise BadInput(rest_words(session) if identity else f"Session {session.name} is {session.state}; {start}.")
    chosen = workload(name)
    params = chosen.check(values)
    where = placement_in(session, placement)
    learner = identity if identity is not None and identity.role == "learner" else None
    if learner is not None:
        check_limits(where, session.limits, chosen.processes(params) if chosen.processes else 0)
    if chosen.tolerates and chosen.tolerates(params) and not mpi.tolerant(where.mpi):
        raise BadInput(
            f"With these params {name} goes on when ranks are lost, but {implementation(where.mpi).title} ends all "
            "ranks when it loses one; take Open MPI (--mpi openmpi)."
        )
    inputs = inputs_of(store, chosen, params, where)
    return store.submit(
        session.id,
        name,
        params.model_dump(mode="json") | dict(public_params or {}),
        where.as_json(),
        submitted_by=identity.nickname if identity else "",
        identity_id=learner.id if learner else None,
        measured=measured,
        inputs=inputs,
        most_unfinished=session.limits.queued if learner else None,
        most_in_all=session.limits.total if learner else None,
        trial=trial,
    )


def inputs_of(store: Store, chosen: Workload, params: Any, placement: Placement) -> Mapping[str, bytes]:
    """The input files of a run, read and checked. Raises BadInput, also for what isn't installed."""
    if lacks := chosen.lacks():
        raise BadInput(lacks)
    inputs = chosen.inputs(params, artifacts_of(store)) if chosen.inputs else {}
    if chosen.fits:
        chosen.fits(params, inputs, placement.ranks)
    return inputs


def artifacts_of(store: Store) -> Artifacts:
    """Files of earlier runs for workloads."""

    def artifact(run_id: int, name: str) -> bytes:
        run = store.run(run_id)
        if not any(artifact.name == name for artifact in store.artifacts(run_id)):
            raise BadInput(f"Run {run_id} ({run.workload}, {run.status}) has kept no {name}.")
        return store.artifact(run_id, name).data or b""

    return artifact


def gone_on_from(store: Store, chosen: Workload, values: Mapping[str, Any]) -> RunRecord | None:
    """The earlier run that these values continue; its params and placement are the defaults. None for a new beginning,
    or from a file. Raises BadInput where this workload has no such run."""
    param = param_of_runs(chosen.params)
    number = values.get(param) if param else None
    if not is_run_number(number):
        return None
    earlier = store.run(int(number))
    if earlier.workload != chosen.name:
        raise BadInput(f"Run {number} is of {earlier.workload}, so {chosen.name} can't go on from it.")
    return earlier


def cancel(store: Store, run_id: int, identity: Identity | None = None) -> None:
    """Ask for the end of a run; learners may end their own. Raises BadInput, also for one that has ended."""
    run = store.run(run_id)
    if run.ended:
        raise BadInput(f"Run {run_id} has ended already: it is {run.status}.")
    if identity is not None and identity.role == "learner" and run.identity_id != identity.id:
        raise BadInput(f"Run {run_id} is {run.submitted_by or 'the instructor'}'s; you can cancel your own runs.")
    store.request_cancel(run_id)


def kill_rank(store: Store, run_id: int, rank: int) -> None:
    """Ask for the end of one rank of a running run by SIGKILL, as a failing host would end it. Raises BadInput."""
    run = store.run(run_id)
    ranks = [report["rank"] for report in (run.rank_map or {}).get("ranks", [])]
    if run.status != "running" or not ranks:
        raise BadInput(f"Run {run_id} is {run.status}; only a run whose ranks compute can lose a rank.")
    if rank not in ranks:
        raise BadInput(f"Run {run_id} has no rank {rank}; its ranks are 0 to {max(ranks)}.")
    store.request_kill(run_id, rank)


def read(store: Store, run_id: int) -> RunRecord:
    """A run with its verdict, also where its conductor has died before it could write one. Raises BadInput if there is
    no such run."""
    run = store.run(run_id)
    if run.ended and run.verdict is None:
        return replace(run, verdict=verdict(run, store.totals(run_id)))
    return run


def wait(
    store: Store,
    run_id: int,
    on_look: Callable[[RunRecord], None] | None = None,
    timeout: float | None = None,
    say: Callable[[str], None] = lambda words: None,
) -> RunRecord:
    """Wait until a run has ended. Raises WorkshopError after `timeout` seconds, and where nobody will take the run.

    A conductor that is only slow (a laptop was closed, a disk was busy) makes its run read interrupted for a while:
    that counts only once the conductor is gone, or has been silent for `REVIVED` seconds. `timeout` doesn't run while
    the run waits for others who measure on its machine; `say` gets a sentence on each of them.
    """
    began = now = time.monotonic()
    deadline = None if timeout is None else began + timeout
    lost_since: float | None = None
    waits = ""
    run = store.run(run_id)
    session, looked = store.session(run.session_id), time.monotonic()
    while True:
        run = store.run(run_id)
        if on_look:
            on_look(run)
        # Every look takes processor time from the ranks.
        if run.ended or (run.measured and run.status == "queued") or time.monotonic() - looked > SESSION:
            session, looked = store.session(run.session_id), time.monotonic()
        lost_since = None if session.state != "lost" else lost_since or time.monotonic()
        given_up = lost_since is not None and time.monotonic() - lost_since > REVIVED
        if run.ended and (run.status != "interrupted" or given_up or not has_conductor(session)):
            ended = read(store, run_id)
            if ended.ended:  # else a conductor that was slow has gone on meanwhile
                return ended
        if run.status == "queued" and (given_up or session.state in ("stopped", "failed")):
            raise WorkshopError(
                f"Run {run_id} waits in session {session.name}, which is {session.state}; it is taken when somebody "
                f"starts the session again (workshop session start {session.name})."
            )
        before, waits = waits, waits_for(session, run)
        if waits and waits != before:
            say(waits)
        last, now = now, time.monotonic()
        if waits and before and deadline is not None and now - began < measurement_lock.LOCK_SECONDS:
            deadline += now - last
        if deadline is not None and now > deadline:
            raise WorkshopError(f"Run {run_id} has not ended within {timeout:g} s; it is {run.status}.")
        time.sleep(min(LOOK + (now - began) / 20, SELDOM))


def has_conductor(session: SessionRecord) -> bool:
    """Whether a session that reads lost still has its conductor, on this machine."""
    return (
        session.state == "lost"
        and session.conductor_pid is not None
        and processes.has_tag(session.conductor_pid, processes.TAG, processes.session_tag(session.id))
    )
