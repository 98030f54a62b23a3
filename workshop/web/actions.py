"""Actions of the dashboard, with their permissions: pages hide a forbidden action, these functions refuse it."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from workshop.core.errors import BadInput, WorkshopError
from workshop.core.forms import EARLIER, file_params, is_run_number, param_of_runs
from workshop.core.placement import Placement
from workshop.course import class_progress
from workshop.course.reading import LabRun
from workshop.registry import workload as workload_of
from workshop.sessions import client, lifecycle
from workshop.store.records import Identity, Limits, RunRecord, SessionRecord
from workshop.store.sessions import refuse_in
from workshop.store.store import Author, Store
from workshop.web import auth_middleware


def only_instructor(identity: Identity) -> None:
    """Raises BadInput for anybody else."""
    if identity.role != "instructor":
        raise BadInput("Only the instructor can do this.")


def launch(
    store: Store, identity: Identity, name: str, placement: Mapping[str, Any], limits: Limits | None = None
) -> SessionRecord:
    """Start a session, which runs until it is stopped; returns at once. Raises BadInput."""
    only_instructor(identity)
    session, conductor = lifecycle.start_session(store, name, Placement.parse(placement), limits=limits)
    # Whoever starts a process has to take note of its end, or it stays in the process table.
    threading.Thread(target=conductor.wait, name=f"conductor of {name}", daemon=True).start()
    return session


def stop(store: Store, identity: Identity, name: str) -> None:
    """Stop a session and all its processes; waits until nothing is left."""
    only_instructor(identity)
    lifecycle.stop_session(store, name)


def reset(store: Store, identity: Identity, name: str) -> None:
    """Have a session throw its ranks away and start new ones; a run that is under way is cancelled, the queue stays."""
    only_instructor(identity)
    store.request_reset(store.session(name).id)


def kill_rank(store: Store, identity: Identity, run_id: int, rank: int) -> None:
    """Have a rank of a running run killed. Raises BadInput."""
    only_instructor(identity)
    client.kill_rank(store, run_id, rank)


def set_limits(store: Store, identity: Identity, name: str, limits: Limits) -> None:
    """Set the limits of learners' runs."""
    only_instructor(identity)
    store.update_session(store.session(name).id, limits=limits)


def take_back(store: Store, identity: Identity, learner: str, lab: str | None = None) -> str:
    """Reset a learner in one lab or in all. Returns the effects. Raises BadInput."""
    only_instructor(identity)
    return class_progress.reset(store, learner, lab).done


def submit(
    store: Store,
    identity: Identity,
    session: SessionRecord,
    workload: str,
    params: Mapping[str, Any],
    placement: Mapping[str, Any],
    uploads: Mapping[str, tuple[str, bytes]] | None = None,
) -> RunRecord:
    """Put a run into the session's queue. Raises BadInput.

    `uploads` are files for params that name one: param -> (file name, bytes). They are written to a private folder
    for as long as it takes to check and read them; the run keeps their names and, as inputs, their bytes.
    """
    model = workload_of(workload).params
    goes_on = is_run_number(params.get(param_of_runs(model) or ""))
    for param, about in file_params(model).items():
        if not (goes_on and params.get(param) == EARLIER):
            _check_file(param, about, params, param in (uploads or {}))
    names = {param: Path(name).name or "upload" for param, (name, _) in (uploads or {}).items()}
    with tempfile.TemporaryDirectory(prefix="workshop-") as folder:
        values = dict(params)
        for param, (_, data) in (uploads or {}).items():
            path = Path(folder) / f"{param}{Path(names[param]).suffix[:10]}"
            path.write_bytes(data)
            values[param] = str(path)
        try:
            run = client.submit(store, session, workload, values, placement, identity=identity, public_params=names)
            auth_middleware.PRESENCE.act(identity, f"submitted run {run.id} ({workload})")
            return run
        except BadInput as error:
            words = str(error)
            for param, name in names.items():
                words = words.replace(values[param], name)
            raise BadInput(words) from error


def lab_run(run: LabRun, session: SessionRecord) -> tuple[dict[str, Any], dict[str, Any]]:
    """The params of a lab's run, and its placement in a session."""
    fields = workload_of(run.workload).params.model_fields
    params = {name: value for name, value in run.settings.items() if name in fields}
    placement = {name: value for name, value in run.settings.items() if name in Placement.model_fields}
    return params, {**session.placement, **placement}


def note_author(identity: Identity, run: RunRecord) -> Author | None:
    """The role in which somebody may write a note on a run; None for everybody but its submitter and the instructor."""
    if identity.role == "instructor":
        return "instructor"
    return "submitter" if run.identity_id == identity.id else None


def write_note(store: Store, identity: Identity, run_id: int, text: str) -> None:
    """Write a note on a run in place of one's earlier note. Raises BadInput for others' runs."""
    author = note_author(identity, store.run(run_id))
    if author is None:
        raise BadInput(f"Only the instructor and the person who submitted run {run_id} can write a note on it.")
    refuse_in(store.database)
    store.keep_note(run_id, author, text.strip())
    auth_middleware.PRESENCE.act(identity, f"wrote a note on run {run_id}")


def _check_file(param: str, about: Mapping[str, Any], params: Mapping[str, Any], uploaded: bool) -> None:
    """On the dashboard, a param that names a file takes a listed file, an upload, or the number of a run, never a path
    on the server. Raises BadInput."""
    of_theirs, value = about.get("upload", True), params.get(param)
    if uploaded:
        if not of_theirs:
            raise BadInput(f"{param} takes no file of yours.")
        return
    if param not in params or value in about["choices"]:
        return
    if about.get("runs"):
        if value != "" and not is_run_number(value):
            raise BadInput(f"{param} is {value!r}; it should be the number of a run, or empty.")
        return
    rest = ", or a file of yours" if of_theirs else ""
    raise BadInput(f"{param} is {value!r}; it should be {' or '.join(about['choices'])}{rest}.")


def routes(store: Store) -> list[BaseRoute]:
    async def cancel(request: Request) -> Response:
        identity = request.state.identity
        try:
            await run_in_threadpool(client.cancel, store, request.path_params["id"], identity)
        except WorkshopError as error:
            return JSONResponse({"error": str(error)}, 400)
        return JSONResponse({"cancelled": request.path_params["id"]})

    return [Route("/run/{id:int}/cancel", cancel, methods=["POST"])]
