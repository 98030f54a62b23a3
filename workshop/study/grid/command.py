"""Grid studies on the command line: described by options, or by a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from workshop import registry
from workshop.cli import common, params
from workshop.study import command as commands
from workshop.study.command import Minutes, Settings

# Of a study's file, what `grid.plan` is asked besides axes, params and placement.
ASKED = ("repeats", "best", "sampler", "limit", "shared", "title", "compare", "seeds")
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
    minutes: Minutes = 30,
    as_json: common.JSON = False,
) -> int:
    """Every combination of some values, or those that a sampler chooses: which is fastest, and is that sure?

    Where ranks are varied, all together have the batch that one rank would have, so that every cell does the same work.
    """
    from workshop.core.errors import BadInput
    from workshop.registry import workload as workload_of
    from workshop.study.settings import read_axes, read_settings

    chosen = workload_of(workload)
    axes = read_axes(vary or [])
    given = read_settings(settings or [], chosen)
    both = next((name for name in given if name in axes), None)
    if both is not None:
        raise BadInput(f"{both} is both set and varied; leave one out.")
    if trials is not None and sampler is None:
        raise BadInput(
            f"--trials {trials} says how many cells a sampler chooses; add --sampler tpe, or use --limit {trials}."
        )
    chooses = {"name": sampler, "seed": seed} | ({} if trials is None else {"trials": trials})
    store, shared = commands.store_and_session(session, private)
    placement = common.placement_from(shared.placement if shared else {}, **where)
    asked = {
        "repeats": repeats,
        "best": {"cells": best, "repeats": best_repeats},
        "sampler": None if sampler is None else chooses,
        "limit": limit,
        "seed": seed,
        "shared": not weak,
        "compare": compare,
        "seeds": seeds,
        "title": title,
    }
    return _run(store, chosen, axes, given, placement, shared, minutes, as_json, **asked)


def file(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The study's YAML file, see labs/sgan/studies.")],
    session: common.SessionName = None,
    private: common.Private = False,
    minutes: Minutes = 30,
    as_json: common.JSON = False,
) -> int:
    """A grid study that a small YAML file describes."""
    from workshop.registry import workload as workload_of
    from workshop.study.settings import whole_path

    found = read_study(path)
    chosen = workload_of(found.workload)
    given = {
        name: whole_path(chosen, name, value, path.parent) if isinstance(value, str) else value
        for name, value in found.params.items()
    }
    store, shared = commands.store_and_session(session, private)
    placement = placement_of(found, shared)
    asked = {name: getattr(found, name) for name in ASKED}
    return _run(store, chosen, found.vary, given, placement, shared, minutes, as_json, **asked)


def read_study(path: Path) -> Any:
    """A study's file, whose settings and axes don't name the same. Raises BadInput."""
    from workshop.core.errors import BadInput
    from workshop.study.grid.file import read_file

    found = read_file(path)
    both = next((name for name in [*found.params, *found.placement] if name in found.vary), None)
    if both is not None:
        raise BadInput(f"{path}: {both} is both set and varied; leave one out.")
    return found


def placement_of(found: Any, shared: Any) -> Any:
    """The placement of a file's runs: what it says, on top of the session's or of this machine's. Raises BadInput."""
    from workshop.core import topology
    from workshop.core.placement import default_for

    here = default_for(topology.allowed_cores(topology.machine())).as_json()
    base = shared.placement if shared else {} if found.placement else here
    return registry.placement({**base, **found.placement})


def _run(
    store: Any,
    chosen: Any,
    axes: Any,
    given: Any,
    placement: Any,
    where: Any,
    minutes: float,
    as_json: bool,
    **asked: Any,
) -> int:
    from workshop.runtime import client
    from workshop.study.estimate import seconds_each
    from workshop.study.grid import plan as grids

    each, _ = seconds_each(store, chosen.name, {})
    wanted = grids.plan(chosen, axes, given, placement, seconds=each, **asked)
    some = grids.some_cell(wanted, chosen)
    if chosen.inputs:  # nothing is started for a file that can't be read
        chosen.inputs(chosen.check(some.params), client.artifacts_of(store))
    wanted = grids.check_placements(wanted, lambda one: client.placement_in(where, one.as_json()))
    study = commands.begin(store, grids.KIND, chosen.name, wanted)
    return commands.go_on(store, study, where, minutes, as_json)
