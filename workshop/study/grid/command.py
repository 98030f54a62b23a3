"""Grid studies on the command line: described by options, or by a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workshop import registry
from workshop.cli import common, params
from workshop.study import command as commands
from workshop.study.command import Minutes, Settings

if TYPE_CHECKING:
    Where = dict[str, Any]
else:
    Where = common.PLACEMENT.only(
        *("ranks", "threads", "map_by", "per_resource", "cores_per_rank", "bind_to", "oversubscribe", "env", "mpi")
    )


@params.grouped
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
    best: Annotated[int, typer.Option(metavar="N", min=0, max=50, help="Repeat the best N cells; 0: none.")] = 2,
    best_repeats: Annotated[
        int, typer.Option(metavar="N", min=1, max=100, help="Until each of them was run so often.")
    ] = 3,
    sampler: Annotated[
        str | None, typer.Option(metavar="NAME", help="Choose cells instead of running all: tpe (Optuna's) or random.")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Cells that the sampler chooses; default: 20.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Run only so many cells of the grid, drawn at random.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, max=2**31 - 1, help="Of the sampler, or the limit.")] = 0,
    weak: Annotated[
        bool, typer.Option("--weak", help="Each rank has the whole batch, instead of its part, where ranks are varied.")
    ] = False,
    compare: Annotated[
        str,
        typer.Option(
            metavar="METRIC",
            help="Compare by this metric, the more the better (like held_out_accuracy), not by how fast runs are.",
        ),
    ] = "",
    seeds: Annotated[bool, typer.Option("--seeds", help="Give each repeat a seed of its own.")] = False,
    title: Annotated[str, typer.Option(metavar="WORDS", help="What to call the study.")] = "",
    *,
    where: Where,
    session: common.SessionName = None,
    private: common.Private = False,
    no_wait: common.NoWait = False,
    minutes: Minutes = 30,
    as_json: common.JSON = False,
) -> int:
    """Every combination of some values, or those that a sampler chooses: which is fastest, and is that sure?

    Where ranks are varied, all together have the batch that one rank would have, so that every cell does the same work.
    """
    from workshop.core.errors import BadInput
    from workshop.registry import workload as workload_of
    from workshop.study.grid import plan as grids
    from workshop.study.settings import read_axes, read_settings

    chosen = workload_of(workload)
    axes = read_axes(vary or [])
    params = read_settings(settings or [], chosen)
    both = next((name for name in params if name in axes), None)
    if both is not None:
        raise BadInput(f"{both} is both set and varied; leave one out.")
    options = grids.options(
        repeats=repeats,
        best=best,
        best_repeats=best_repeats,
        sampler=sampler,
        trials=trials,
        limit=limit,
        seed=seed,
        weak=weak,
        compare=compare,
        seeds=seeds,
        title=title,
    )
    store, shared = commands.store_and_session(session, private, no_wait)
    placement = common.placement_from(shared.placement if shared else {}, **where)
    planned = grids.plan_here(store, shared, chosen, axes, params, placement, options)
    return commands.go_on(store, commands.begin(store, planned), shared, minutes, as_json)


def file(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The study's YAML file, see labs/sgan/studies.")],
    session: common.SessionName = None,
    private: common.Private = False,
    no_wait: common.NoWait = False,
    minutes: Minutes = 30,
    as_json: common.JSON = False,
) -> int:
    """A grid study that a small YAML file describes."""
    from workshop.registry import workload as workload_of
    from workshop.study.grid import plan as grids
    from workshop.study.settings import whole_path

    study_file = read_study(path)
    chosen = workload_of(study_file.workload)
    params = {
        name: whole_path(chosen, name, value, path.parent) if isinstance(value, str) else value
        for name, value in study_file.params.items()
    }
    store, shared = commands.store_and_session(session, private, no_wait)
    placement = placement_of(study_file, shared)
    planned = grids.plan_here(store, shared, chosen, study_file.vary, params, placement, study_file.options)
    return commands.go_on(store, commands.begin(store, planned), shared, minutes, as_json)


def read_study(path: Path) -> Any:
    """A study's file. Raises BadInput, also if a name is both set and varied."""
    from workshop.core.errors import BadInput
    from workshop.study.grid.file import read_file

    study_file = read_file(path)
    both = next((name for name in [*study_file.params, *study_file.placement] if name in study_file.vary), None)
    if both is not None:
        raise BadInput(f"{path}: {both} is both set and varied; leave one out.")
    return study_file


def placement_of(study_file: Any, shared: Any) -> Any:
    """The placement of a file's runs: the file's fields, then the session's or this machine's. Raises BadInput."""
    from workshop.core import topology
    from workshop.core.placement import default_for

    here = default_for(topology.allowed_cores(topology.machine())).as_json()
    base = shared.placement if shared else {} if study_file.placement else here
    return registry.placement({**base, **study_file.placement})
