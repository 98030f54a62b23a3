"""Common code of the commands that run studies: begin or resume a study, run it with a bar, show its results."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from workshop.cli import common

StudyId = Annotated[int, typer.Argument(metavar="STUDY", help="The study's number.")]
Minutes = Annotated[
    float, typer.Option("--minutes", metavar="N", min=0.01, max=1440, help="Longest time of one trial.")
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the workload; may be repeated.")
]


def store_and_session(session: str | None, private: bool, no_wait: bool = False) -> tuple[Any, Any]:
    """The store, and the session to run in (None: a private session). Raises BadInput. With `no_wait`, raises
    WorkshopError if somebody else measures on this machine."""
    from workshop.sessions.lifecycle import shared_session
    from workshop.sessions.measurement_lock import refuse_wait
    from workshop.store.store import Store

    common.one_session(session, private)
    if no_wait:
        refuse_wait()
    store = Store.open()
    return store, None if private else shared_session(store, session)


def begin(store: Any, planned: Any) -> int:
    """The number of the unfinished study with the same description, or of a new study."""
    from workshop.study import runner

    if unfinished := next(runner.same_studies(store, planned), None):
        common.stderr().print(f"Study {unfinished.id} asked for the same and is not complete: going on with it.")
        return unfinished.id
    return runner.begin(store, planned).id


def go_on(
    store: Any,
    study: int,
    shared: Any,
    minutes: float,
    as_json: bool,
    every_failed: bool = False,
) -> int:
    """Run the trials that a study lacks, then show the study. Returns the exit code.

    `shared` is the session to run in, or None for a private session. `every_failed` runs all failed trials again.
    """
    from workshop.core.errors import WorkshopError
    from workshop.core.placement import Placement
    from workshop.registry import workload as workload_of
    from workshop.sessions.lifecycle import session_for
    from workshop.study import runner
    from workshop.study.estimate import ahead_words
    from workshop.study.kinds import Sofar, expected, read, report
    from workshop.study.runner import check_place
    from workshop.study.terminal import report_ends, resuming, show_study, watch_study

    workload_of(store.study(study).workload)
    err = common.stderr()
    code = 0
    try:
        with runner.working_on(store, study) as me:
            renewed = runner.renew_failed(store, study, every=every_failed)
            waiting = runner.trials_to_run(store, study)
            if waiting:
                check_place(study, waiting, read(store, study)[1].values(), shared)
                renewed_text = "" if not renewed else f", {renewed} of which had failed"
                where = f"session {shared.name}" if shared else "a private session"
                ahead = ahead_words(store, Sofar(store.study(study), *read(store, study)))
                err.print(f"Study {study}: {ahead}{renewed_text}, in {where}.")
                first = Placement.parse(waiting[0].placement)
                with session_for(store, shared, first) as place, watch_study(err) as look:
                    on_end = report_ends(err, store, study)
                    runner.run_study(store, study, me, place, with_notices(err, look), minutes * 60, on_end=on_end)
            elif store.study(study).finished_at is None:
                runner.finish(store, study, me)
            else:
                failed = store.study(study).failed
                more = f"; --failed runs the {failed} that failed again" if failed else ""
                err.print(f"Study {study} has all its runs{more}.")
    except KeyboardInterrupt:
        code = 130
    except WorkshopError as error:
        if error.exit_code == 2:
            raise
        raise WorkshopError(f"{error} {resuming(study)}") from error
    result = report(store, store.study(study))
    if as_json:
        common.answer(result.as_json())
    else:
        show_study(result)
    if result.study.finished_at is None:
        if as_json:  # the words of show_study have it already
            far = f"{result.study.done} of {expected(result)} runs"
            err.print(f"Study {study} is not complete: {far}. {resuming(study)}")
        return code or 1
    return 0 if result.study.state == "completed" else 1


def with_notices(err: Any, look: Any) -> Any:
    """A callback that calls `look` and prints whom the study waits for."""
    waits = ""

    def both(now: Any) -> None:
        nonlocal waits
        if now.waits not in ("", waits):
            err.print(now.waits)
        waits = now.waits
        look(now)

    return both
