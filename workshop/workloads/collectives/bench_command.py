"""`workshop bench collectives`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from workshop.cli import bench_output, common


def collectives(
    operation: Annotated[str, typer.Option(help="What to measure, as OSU calls it: all, bcast and others.")] = "all",
    mpis: Annotated[str, typer.Option(help="Which MPIs, with commas between.")] = "openmpi,mpich,intelmpi",
    ranks: Annotated[int, typer.Option("--ranks", "-n", min=1, max=64, help="Number of MPI ranks.")] = 2,
    repeats: Annotated[int, typer.Option(min=3, help="Interleaved repeats of which medians are taken.")] = 5,
    largest: Annotated[str, typer.Option(metavar="BYTES", help="The largest message.")] = str(1 << 20),
    tables: Annotated[bool, typer.Option("--tables", help="Print all sizes, as OSU's benchmarks do.")] = False,
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the figures as a web page.")] = None,
    no_wait: common.NoWait = False,
    as_json: common.JSON = False,
) -> None:
    """Messages and collectives by size on every MPI that is here, with the algorithms that Open MPI chose."""
    from workshop.workloads.allreduce.bench import curves, read_mpis
    from workshop.workloads.collectives import WORKLOAD, bench, check_ranks
    from workshop.workloads.collectives.panels import page

    params: Any = WORKLOAD.check({"operation": operation, "largest": largest})
    check_ranks(params, {}, ranks)
    chosen = read_mpis(mpis)
    if save is not None:
        common.writable(save.absolute().parent)
    document = bench_output.alone(lambda progress, _: bench.run(chosen, ranks, repeats, params, progress), no_wait)
    if save is not None:
        save.write_text(page(curves(document["rows"])))
    if as_json:
        return bench_output.show(document, as_json)
    (heading, *lines), osu = bench.overview(document)
    if tables:
        typer.echo(osu)
    common.show_table(heading, lines)
    rest = [row for row in document["rows"] if "bytes" not in row]
    bench_output.show({**document, "rows": rest, "ratios": {}}, as_json)
