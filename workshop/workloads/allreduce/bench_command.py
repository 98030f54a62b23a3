"""`workshop bench allreduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from workshop.cli import bench_output, common


def allreduce(
    mpis: Annotated[str, typer.Option(help="Which MPIs, with commas between.")] = "openmpi,mpich,intelmpi",
    ranks: Annotated[int, typer.Option("--ranks", "-n", min=1, max=64, help="Number of MPI ranks.")] = 2,
    repeats: Annotated[int, typer.Option(min=3, help="Interleaved repeats of which medians are taken.")] = 5,
    largest: Annotated[str, typer.Option(metavar="BYTES", help="The largest message.")] = str(64 << 20),
    methods: Annotated[str, typer.Option(help="Which methods, with commas between.")] = "",
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the figures as a web page.")] = None,
    no_wait: common.NoWait = False,
    as_json: common.JSON = False,
) -> None:
    """All-reduce by message size on every MPI that is here, in several ways, against what memory allows."""
    from workshop.workloads.allreduce import WORKLOAD, bench
    from workshop.workloads.allreduce.panels import page

    params: Any = WORKLOAD.check({"largest": largest, **({"methods": methods} if methods else {})})
    chosen = bench.read_mpis(mpis)
    if save is not None:
        common.writable(save.absolute().parent)
    document = bench_output.alone(lambda progress, _: bench.run(chosen, ranks, repeats, params, progress), no_wait)
    if save is not None:
        save.write_text(page(bench.curves(document["rows"]), bench.copied(document["rows"])))
    if as_json:
        return bench_output.show(document, as_json)
    if lines := bench.overview(document):
        common.show_table(lines[0], lines[1:])
    rest = [row for row in document["rows"] if "bytes" not in row]
    bench_output.show({**document, "rows": rest}, as_json)
