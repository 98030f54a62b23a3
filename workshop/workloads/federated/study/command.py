"""`workshop study run ways`: federated learning, pooled data and each institution alone, with several seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from workshop.cli import common
from workshop.study import command as commands

if TYPE_CHECKING:
    Where = dict[str, Any]
else:
    Where = common.PLACEMENT.only("ranks", "threads", "map_by", "cores_per_rank", "bind_to", "env")


@common.grouped
def ways(
    context: typer.Context,
    workload: Annotated[
        str, typer.Option(metavar="NAME", help="What institutions learn: federated (digits) or segmentation.")
    ] = "federated",
    seeds: Annotated[
        int, typer.Option(metavar="N", min=1, max=100, help="Runs of each way, with the seeds from --seed on.")
    ] = 5,
    settings: commands.Settings = None,
    *,
    where: Where,
    running: commands.Running,
) -> int:
    """The same model trained centrally, alone, and federated. Means and their spread over several seeds are shown.

    Takes the workload's own options, too (--partition label). Unless you say otherwise, digits are dealt very unevenly,
    since that is where being alone shows. The dashboard's page Three ways to learn shows the same, live by round.
    """
    from workshop.registry import workload as workload_of
    from workshop.study.grid.axes import read_options, read_settings
    from workshop.workloads.federated.study.plan import checked

    chosen = workload_of(workload)
    values = read_settings([*(settings or []), *read_options(context.args)], chosen)

    def plan(store: Any, shared: Any) -> Any:
        placement = common.placement_from(shared.placement if shared else {}, **where)
        return checked(store, chosen, values, seeds, shared, placement)

    return commands.run(plan, running)
