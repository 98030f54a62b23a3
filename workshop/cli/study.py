"""Studies: the same workload run several times under different conditions, and what the differences say."""

from __future__ import annotations

from typing import Annotated

import typer

from workshop.cli import common, study_export, study_grid, study_path, study_ways, studying
from workshop.cli.studying import Minutes, Settings, StudyId

app = typer.Typer(help=__doc__, no_args_is_help=True)
run_app = typer.Typer(help="Run a study; it goes on where the same one was interrupted.", no_args_is_help=True)
app.add_typer(run_app, name="run")
run_app.command("grid")(study_grid.grid)
run_app.command("file")(study_grid.file)
run_app.command("path")(study_path.path)
run_app.command("ways", context_settings=study_ways.OWN_OPTIONS)(study_ways.ways)
app.command("export")(study_export.export)


@run_app.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
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
    threads: common.ThreadsPerRank = None,
    map_by: common.MapBy = None,
    per_resource: common.PerResource = None,
    cores_per_rank: common.CoresPerRank = None,
    bind_to: common.BindTo = None,
    env: common.Environment = None,
    session: common.SessionName = None,
    private: common.Private = False,
    minutes: Minutes = 30,
    as_json: common.JSON = False,
) -> int:
    """Throughput, speed-up and efficiency over numbers of ranks; takes the workload's own options (--batch 32), too.

    Strong scaling, the default, shares the same work out: --batch is then the batch of all ranks together. With --weak
    each rank has that batch, and the work grows with the ranks.
    """
    from workshop.core import topology
    from workshop.core.placement import Placement
    from workshop.registry import workload as workload_of
    from workshop.runtime import client
    from workshop.runtime.lifecycle import shared_session
    from workshop.store.store import Store
    from workshop.study.scaling.plan import KIND, default_ranks, places, plan, read_ranks
    from workshop.study.settings import read_options, read_settings

    chosen = workload_of(workload)
    given = read_settings([*(settings or []), *read_options(context.args)], chosen)
    numbers = read_ranks(ranks) if ranks is not None else default_ranks(topology.allowed_cores(topology.machine()))
    common.one_session(session, private)
    store = Store.open()
    shared = None if private else shared_session(store, session)
    base = shared.placement if shared else {}
    placement = common.placement_from(
        base, str(numbers[0]), map_by, per_resource, cores_per_rank, bind_to, threads, env
    )
    for place in places(numbers, placement):
        client.placement_in(shared, place.as_json())
    wanted = plan(chosen, given, numbers, placement, weak, repeats)
    for cell in wanted.cells:
        client.inputs_of(store, chosen, chosen.check(cell.params), Placement.parse(cell.placement))
    study = studying.begun(store, KIND, chosen.name, wanted)
    return studying.go_on(store, study, shared, minutes, as_json)


@app.command()
def resume(
    study: StudyId,
    again: Annotated[bool, typer.Option("--failed", help="Run the trials that failed again, too.")] = False,
    session: common.SessionName = None,
    private: common.Private = False,
    minutes: Minutes = 30,
    as_json: common.JSON = False,
) -> int:
    """Go on with a study that was interrupted; what has completed is not run again."""
    from workshop.runtime.lifecycle import shared_session
    from workshop.store.store import Store
    from workshop.study import kinds

    common.one_session(session, private)
    store = Store.open()
    kinds.report(store, store.study(study))
    shared = None if private else shared_session(store, session)
    return studying.go_on(store, study, shared, minutes, as_json, again)


@app.command()
def show(study: StudyId, as_json: common.JSON = False) -> None:
    """Show one study: its table, its verdict, and how far it is."""
    from workshop.cli.show_study import show_study
    from workshop.store.store import Store
    from workshop.study.kinds import report

    store = Store.open()
    found = report(store, store.study(study))
    if as_json:
        common.answer(found.as_json())
    else:
        show_study(found)


@app.command("list")
def list_(
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many, the newest first.")] = 20,
    as_json: common.JSON = False,
) -> None:
    """List studies, the newest first."""
    from rich.console import Console

    from workshop.cli.show_study import studies_table
    from workshop.store.store import Store
    from workshop.study.kinds import expected, read

    store = Store.open()
    found = store.studies(limit=limit)
    all_of = [study.trials if study.finished_at else expected(study, *read(store, study.id)) for study in found]
    if as_json:
        common.answer([vars(study) | {"expected": runs} for study, runs in zip(found, all_of, strict=True)])
    elif found:
        Console(highlight=False).print(studies_table(found, all_of))
    else:
        common.stderr().print("There is no study yet; run one with: workshop study run scaling --workload mnist")
