"""`workshop bench allreduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workshop.cli import bench_output, common


def allreduce(
    mpis: Annotated[str, typer.Option(help="Which MPIs, with commas between.")] = "openmpi,mpich,intelmpi",
    ranks: Annotated[int, typer.Option("--ranks", "-n", min=1, max=64, help="Number of MPI ranks.")] = 2,
    repeats: Annotated[int, typer.Option(min=3, help="Interleaved repeats of which medians are taken.")] = 5,
    largest: Annotated[str, typer.Option(metavar="BYTES", help="The largest message.")] = str(64 << 20),
    methods: Annotated[str, typer.Option(help="Which methods, with commas between.")] = "",
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the figures as a web page.")] = None,
    as_json: common.JSON = False,
) -> None:
    """All-reduce by message size on every MPI that is here, in several ways, against what memory allows.

    Takes about three minutes on two cores.
    """
    from workshop.workloads.allreduce import WORKLOAD, bench
    from workshop.workloads.allreduce.figures import page

    params = WORKLOAD.check({"largest": largest, **({"methods": methods} if methods else {})})
    chosen = bench.read_mpis(mpis)
    if save is not None:
        common.writable(save.absolute().parent)
    document = bench_output.with_bar(lambda progress: bench.run(chosen, ranks, repeats, params, progress))
    if save is not None:
        save.write_text(page(bench.curves(document["rows"]), bench.possible(document["rows"])))
    if as_json:
        common.answer(document)
        return
    bench_output.table(bench.overview(document))
    rest = [row for row in document["rows"] if "bytes" not in row]
    bench_output.show({**document, "rows": rest}, as_json)
