"""`workshop study run scaling`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from workshop.cli import common
from workshop.study import command as commands
from workshop.study.command import Minutes, Settings

if TYPE_CHECKING:
    Where = dict[str, Any]
else:
    Where = common.PLACEMENT.only("threads", "map_by", "per_resource", "cores_per_rank", "bind_to", "env")


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
    where: Where,
    session: common.SessionName = None,
    private: common.Private = False,
    no_wait: common.NoWait = False,
    minutes: Minutes = 30,
    as_json: common.JSON = False,
) -> int:
    """Throughput, speed-up and efficiency over numbers of ranks. It takes the workload's own options (--batch 32), too.

    Strong scaling, the default, shares the same work out: --batch is then the batch of all ranks together. With --weak
    each rank has that batch, and the work grows with the ranks.
    """
    from workshop.registry import workload as workload_of
    from workshop.study.scaling.plan import plan_here, read_ranks, usual_ranks
    from workshop.study.settings import read_options, read_settings

    chosen = workload_of(workload)
    params = read_settings([*(settings or []), *read_options(context.args)], chosen)
    numbers = read_ranks(ranks if ranks is not None else usual_ranks(), chosen)
    store, shared = commands.store_and_session(session, private, no_wait)
    base = shared.placement if shared else {}
    placement = common.placement_from(base, ranks=str(numbers[0]), **where)
    planned = plan_here(store, shared, chosen, params, numbers, placement, weak, repeats)
    study = commands.begin(store, planned)
    return commands.go_on(store, study, shared, minutes, as_json)
