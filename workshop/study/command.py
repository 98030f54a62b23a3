"""The commands that run studies: scaling, grids, files, guided studies and the tuner. All begin or go on with a study,
run it with a bar, and show its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workshop.cli import common
from workshop.core import words
from workshop.extension import load

if TYPE_CHECKING:
    GridWhere = dict[str, Any]
    ScalingWhere = dict[str, Any]
else:
    _FIELDS = ("threads", "map_by", "per_resource", "cores_per_rank", "bind_to", "env")
    ScalingWhere = common.PLACEMENT.only(*_FIELDS)
    GridWhere = common.PLACEMENT.only("ranks", *_FIELDS, "oversubscribe", "mpi")

StudyId = Annotated[int, typer.Argument(metavar="STUDY", help="The study's number.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the workload; may be repeated.")
]
Minutes = Annotated[
    float | None, typer.Option("--minutes", metavar="N", min=0.01, max=1440, help="Longest time of one trial.")
]
_RUNNING = common.Group(
    session=common.SessionName,
    private=common.Private,
    no_wait=common.NoWait,
    minutes=Minutes,
    as_json=common.JSON,
)
if TYPE_CHECKING:
    Running = dict[str, Any]
    InSession = dict[str, Any]
else:
    Running = _RUNNING.only()
    InSession = _RUNNING.only("session", "no_wait", "minutes", "as_json")


def run(plan: Callable[[Any, Any], Any], running: Mapping[str, Any], minutes: float = 30) -> int:
    """Run the study that `plan(store, session)` returns (None: a private session), or go on with the unfinished one
    that has the same description. `running` are the options of `Running`, and `minutes` the usual limit of a trial.
    Returns the exit code."""
    from workshop.study import runner

    store, shared = store_and_session(running["session"], running.get("private"), running["no_wait"])
    planned = plan(store, shared)
    unfinished = next(runner.same_studies(store, planned), None)
    if unfinished is not None:
        common.stderr().print(f"Study {unfinished.id} asked for the same and is not complete: going on with it.")
    study = unfinished or runner.begin(store, planned)
    return go_on(store, study.id, shared, running["minutes"] or minutes, bool(running["as_json"]))


def store_and_session(session: str | None, private: bool | None, no_wait: bool | None = False) -> tuple[Any, Any]:
    """The store, and the session to run in (None: a private session). Raises BadInput. With `no_wait`, raises
    WorkshopError if somebody else measures on this machine."""
    from workshop.sessions.lifecycle import shared_session
    from workshop.sessions.measurement_lock import refuse_wait
    from workshop.store.store import Store

    common.one_session(session, bool(private))
    if no_wait:
        refuse_wait()
    store = Store.open()
    return store, None if private else shared_session(store, session)


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
    from workshop.study.kinds import Sofar, ahead_words, expected, read, report
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


@common.grouped
def scaling(
    context: typer.Context,
    workload: Annotated[str, typer.Option(metavar="NAME", help="The workload, for instance mnist or kmeans.")],
    ranks: Annotated[
        str | None, typer.Option(metavar="N,N,…", help="Numbers of ranks to compare; default: 1, 2, … up to the cores.")
    ] = None,
    weak: Annotated[
        bool, typer.Option("--weak", help="The same work for each rank, instead of the same work for all together.")
    ] = False,
    repeats: Annotated[int, typer.Option(min=1, max=100, help="Interleaved runs of each number of ranks.")] = 3,
    settings: Settings = None,
    *,
    where: ScalingWhere,
    running: Running,
) -> int:
    """Throughput, speed-up and efficiency over numbers of ranks. It takes the workload's own options (--batch 32), too.

    Strong scaling, the default, shares the same work out: --batch is then the batch of all ranks together. With --weak
    each rank has that batch, and the work grows with the ranks.
    """
    from workshop.registry import workload as workload_of
    from workshop.study.grid.axes import read_options, read_settings
    from workshop.study.scaling.plan import plan_here, read_ranks, usual_ranks

    chosen = workload_of(workload)
    params = read_settings([*(settings or []), *read_options(context.args)], chosen)
    numbers = read_ranks(ranks if ranks is not None else usual_ranks(), chosen)

    def plan(store: Any, shared: Any) -> Any:
        placement = common.placement_from(shared.placement if shared else {}, ranks=str(numbers[0]), **where)
        return plan_here(store, shared, chosen, params, numbers, placement, weak, repeats)

    return run(plan, running)


@common.grouped
def tune(
    workload: Annotated[str, typer.Argument(metavar="WORKLOAD", help="What to tune: sgan, mnist or kmeans.")],
    budget: Annotated[
        str, typer.Option("--budget", metavar="TIME", help="How long its runs may take together: 90s, 5m, 1h.")
    ] = "5m",
    trials: Annotated[
        int | None, typer.Option(min=2, max=10_000, metavar="N", help="At most so many placements.")
    ] = None,
    settings: Settings = None,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="The same seed makes the same choices.")] = 0,
    *,
    running: Running,
) -> int:
    """Find the fastest placement of a workload on this machine. The command that uses it is printed.

    Tries ranks, threads, mapping, binding, yielding, the MPIs that are installed, and the workload's own ways to
    exchange; the same work in every trial, which is what all ranks do together. It goes on where the same command was
    interrupted.
    """
    from workshop.registry import workload as workload_of
    from workshop.study.grid.axes import read_settings
    from workshop.study.tune.plan import plan_here, read_budget, tuning_of

    chosen = workload_of(workload)
    tuning_of(chosen)
    seconds, params = read_budget(budget), read_settings(settings or [], chosen)

    def plan(store: Any, shared: Any) -> Any:
        return plan_here(store, shared, chosen, params, budget=seconds, trials=trials, seed=seed)

    return run(plan, running)


GUIDE = common.Group(
    steps=Annotated[str | None, typer.Option(metavar="A,B,…", help="Some of the study's steps; default: all of them.")],
    thorough=Annotated[
        bool, typer.Option("--thorough/--quick", help="Larger grids and longer trials, or small ones (the default).")
    ],
    settings=Settings,
)
if TYPE_CHECKING:
    Guided = dict[str, Any]
else:
    Guided = GUIDE.only()


def guide_command(guide: str, text: str) -> Callable[..., int]:
    """The command of the guided study at a reference such as `package.guide:GUIDE`, with its help."""

    @common.grouped
    def command(*, options: Guided, running: Running) -> int:
        return run_guide(load(guide), options, running)

    command.__doc__ = text
    return command


def run_guide(guide: Any, options: Mapping[str, Any], running: Mapping[str, Any]) -> int:
    """Begin or go on with a guided study, with the options of a command. Returns the exit code; raises BadInput."""
    from workshop.registry import workload as workload_of
    from workshop.study.grid.axes import read_settings
    from workshop.study.guided.kind import steps_in_words
    from workshop.study.guided.plan import plan_here, read_steps

    steps = read_steps(guide, options["steps"])
    params = read_settings(options["settings"] or [], workload_of(guide.workload))

    def plan(store: Any, shared: Any) -> Any:
        setting = plan_here(guide, shared, params, thorough=bool(options["thorough"]), steps=steps)
        cores = words.count(setting.cores, "core")
        common.stderr().print(f"The {setting.name} setting of {steps_in_words(setting.steps)}, for {cores}.")
        return setting

    return run(plan, running, minutes=10)


@common.grouped
def grid(
    workload: Annotated[str, typer.Option(metavar="NAME", help="The workload, for instance sgan, mnist or kmeans.")],
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=V,V,…",
            help="What to vary: ranks, threads, … of the placement, env.NAME, or a setting of the workload; may be "
            "repeated. Values with commas in them are parted by | instead.",
        ),
    ] = None,
    settings: Settings = None,
    repeats: Annotated[int, typer.Option(min=1, max=100, help="Interleaved runs of each cell.")] = 1,
    weak: Annotated[
        bool, typer.Option("--weak", help="Each rank has the whole batch, instead of its part, where ranks are varied.")
    ] = False,
    *,
    where: GridWhere,
    running: Running,
) -> int:
    """Every combination of some values, and which is fastest. The best two are repeated.

    Where ranks are varied, all together have the batch that one rank would have, so that every cell does the same work.
    """
    from workshop.registry import workload as workload_of
    from workshop.study.grid import plan as grids
    from workshop.study.grid.axes import read_settings, vary_words

    chosen = workload_of(workload)
    axes, params = vary_words(vary or []), read_settings(settings or [], chosen)

    def plan(store: Any, shared: Any) -> Any:
        placement = common.placement_from(shared.placement if shared else {}, **where)
        return grids.plan_here(store, shared, chosen, axes, params, placement, grids.options(repeats, weak))

    return run(plan, running)


@common.grouped
def file(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The study's YAML file, see labs/sgan/studies.")],
    *,
    running: Running,
) -> int:
    """A grid study that a small YAML file describes."""
    from workshop.registry import workload as workload_of
    from workshop.study.grid import plan as grids
    from workshop.study.grid.axes import whole_path
    from workshop.study.grid.study_file import placement_of, read_study

    study_file = read_study(path)
    chosen = workload_of(study_file.workload)
    params = {
        name: whole_path(chosen, name, value, path.parent) if isinstance(value, str) else value
        for name, value in study_file.params.items()
    }

    def plan(store: Any, shared: Any) -> Any:
        placement = placement_of(study_file, shared)
        return grids.plan_here(store, shared, chosen, study_file.vary, params, placement, study_file.options)

    return run(plan, running)
