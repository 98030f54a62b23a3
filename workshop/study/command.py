"""What commands that run studies share: begin one or go on with it, run it with a bar, show what it has found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Protocol

import typer

from workshop.cli import common

StudyId = Annotated[int, typer.Argument(metavar="STUDY", help="The study's number.")]
Minutes = Annotated[
    float, typer.Option("--minutes", metavar="N", min=0.01, max=1440, help="Longest time of one trial.")
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the workload; may be repeated.")
]


def store_and_session(session: str | None, private: bool) -> tuple[Any, Any]:
    """The store, and the session to run in; None: one of the study's own. Raises BadInput."""
    from workshop.runtime.lifecycle import shared_session
    from workshop.store.store import Store

    common.one_session(session, private)
    store = Store.open()
    return store, None if private else shared_session(store, session)


class Wanted(Protocol):
    """A study that was planned and not kept yet."""

    def description(self) -> Mapping[str, Any]: ...

    def trials(self) -> Sequence[Any]: ...


def begin(store: Any, kind: str, workload: str, wanted: Wanted, submitted_by: str = "") -> int:
    """The number of the unfinished study with the same description, or of a new one."""
    from workshop.study import runner

    description = wanted.description()
    if known := runner.unfinished(store, kind, workload, description):
        common.stderr().print(f"Study {known.id} asked for the same and is not complete: going on with it.")
        return known.id
    return store.create_study(kind, workload, description, wanted.trials(), submitted_by).id


def go_on(
    store: Any,
    study: int,
    shared: Any,
    minutes: float,
    as_json: bool,
    again: bool = False,
    quiet: bool = False,
    watch: Any = None,
) -> int:
    """Run what is missing of a study, and what its kind wants beyond that; then show the study. Returns the exit code.

    `shared` is the session to run in, None for a private one; `again` runs failed trials again; `quiet` shows nothing
    at the end but how to go on with what is not complete (for commands that have more to say themselves); `watch` shows
    progress instead of the bar of `show_study.watch_study`.
    """
    from workshop.core.errors import WorkshopError
    from workshop.core.placement import Placement
    from workshop.registry import workload as workload_of
    from workshop.runtime.lifecycle import session_for
    from workshop.study import runner
    from workshop.study.kinds import expected, read, report
    from workshop.study.place import check_place
    from workshop.study.terminal import resuming, show_study, watch_study

    workload_of(store.study(study).workload)
    err = common.stderr()
    code = 0
    try:
        with runner.working_on(store, study) as me:
            renewed = runner.renew_failed(store, study) if again else 0
            waiting = runner.wanted(store, study)
            if waiting:
                check_place(study, waiting, read(store, study)[1].values(), shared)
                kept = "" if not renewed else f", {renewed} of which had failed"
                where = f"session {shared.name}" if shared else "a private session"
                err.print(f"Study {study}: {_ahead(store, study)}{kept}, in {where}.")
                first = Placement.parse(waiting[0].placement)
                with session_for(store, shared, first) as place, (watch or watch_study)(err) as look:
                    runner.run_study(store, study, me, place, look, minutes * 60)
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
    found = report(store, store.study(study))
    if not quiet and as_json:
        common.answer(found.as_json())
    elif not quiet:
        show_study(found)
    if found.study.finished_at is None:
        if as_json or quiet:  # the words of show_study have it already
            far = f"{found.study.done} of {expected(found.study, found.trials, found.runs)} runs"
            err.print(f"Study {study} is not complete: {far}. {resuming(study)}")
        return code or 1
    return 0 if found.study.state == "completed" else 1


def _ahead(store: Any, study: int) -> str:
    """How many runs a study still has to do, and about how long that takes, as far as one can tell."""
    import time

    from workshop.core import words
    from workshop.study import runner
    from workshop.study.estimate import seconds_each
    from workshop.study.kinds import Sofar, expected, kind
    from workshop.study.trials import remaining

    record = store.study(study)
    trials, runs = runner.read(store, study)
    total = expected(record, trials, runs)
    number = len(runner.missing(trials, runs)) + total - len(trials)
    left, why = kind(record.kind).seconds(store, Sofar(record, trials, runs)) or (
        remaining(trials, runs, time.time(), total),
        "as those before",
    )
    if left is None:
        each, why = seconds_each(store, record.workload, record.description.get("params", {}))
        left = number * each
    return f"{words.count(number, 'run')} to go, about {words.long(left)} ({why})"
