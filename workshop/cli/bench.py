"""Measure speed, ours and others' side by side in one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from workshop.cli import common

app = typer.Typer(help=__doc__, no_args_is_help=True)


def _show(document: dict[str, Any], as_json: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    if as_json:
        common.answer(document)
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("measured", "value", "unit"):
        table.add_column(heading, justify="right" if heading == "value" else "left")
    for row in document["rows"]:
        if row["name"] in document["ratios"]:
            continue
        value = row.get("value")
        table.add_row(row["name"], "-" if value is None else f"{value:.4g}", row.get("note") or row.get("unit", ""))
    intervals = document.get("intervals", {})
    notes = {row["name"]: f", {row['note']}" for row in document["rows"] if row.get("note")}
    for name, value in document["ratios"].items():
        ends = f" ({intervals[name][0]:.3f} to {intervals[name][1]:.3f})" if name in intervals else ""
        table.add_row(name, f"{value:.3f}" if ends else f"{value:.2f}", f"x{ends}{notes.get(name, '')}")
    Console(highlight=False).print(table)


def _table(lines: Sequence[Sequence[str]]) -> None:
    """Lines of cells, the first of which are headings."""
    from rich.console import Console
    from rich.table import Table

    table = Table(*(lines[0] if lines else []), box=None, pad_edge=False)
    for cells in lines[1:]:
        table.add_row(*cells)
    Console(highlight=False, markup=False).print(table)


def _with_bar(measure: Callable[[Callable[[int, int], None]], dict[str, Any]]) -> dict[str, Any]:
    """Measure, with a bar of the turns on a terminal."""
    return _with_bar_and_words(lambda progress, say: measure(progress))


def _with_bar_and_words(
    measure: Callable[[Callable[[int, int], None], Callable[[str], None]], dict[str, Any]],
) -> dict[str, Any]:
    """The same for what also has something to say meanwhile."""
    from rich.progress import Progress

    err = common.stderr()
    with Progress(console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("measuring", total=None)
        return measure(lambda done, total: bar.update(task, completed=done, total=total), err.print)


@app.command()
def kmeans(
    repeats: Annotated[int, typer.Option(min=3, help="Interleaved repeats of which medians are taken.")] = 9,
    as_json: common.JSON = False,
) -> None:
    """Distributed k-means against daal4py and scikit-learn: 1M x 10 float32, k = 10 and 100, 20 iterations."""
    from workshop.bench import kmeans as bench

    document = _with_bar(lambda progress: bench.run(repeats=repeats, progress=progress))
    _show(document, as_json)


@app.command()
def mnist(
    repeats: Annotated[int, typer.Option(min=3, help="Interleaved repeats of which medians are taken.")] = 9,
    as_json: common.JSON = False,
) -> None:
    """Training through a session against the plain script, one bound process, and one process with all cores.

    Takes 6 to 8 minutes on two cores; 95 % intervals of medians need 6 repeats or more.
    """
    from workshop.bench import mnist as bench

    document = _with_bar(lambda progress: bench.run(repeats=repeats, progress=progress))
    _show(document, as_json)


@app.command()
def start(
    repeats: Annotated[int, typer.Option(min=1, help="Interleaved repeats of which medians are taken.")] = 5,
    as_json: common.JSON = False,
) -> None:
    """Seconds from submitting a run to its first step: k-means and mnist; cold, warm, and with another placement.

    Takes about five minutes on two cores.
    """
    from workshop.bench import start as bench

    _show(_with_bar(lambda progress: bench.run(repeats=repeats, progress=progress)), as_json)


@app.command()
def tune(
    repeats: Annotated[int, typer.Option(min=1, help="Interleaved rounds of which medians are taken.")] = 6,
    quick: Annotated[
        bool, typer.Option("--quick", help="k-means on a few cells, one seed: to see that it works.")
    ] = False,
    as_json: common.JSON = False,
) -> None:
    """The tuner against trying every cell of a grid: what its pick is worth, and what finding it cost.

    Trains the S-GAN on 32 cells and tunes it with three seeds; about 20 minutes on two cores, and it says beforehand.
    95 % intervals of medians need 6 rounds or more.
    """
    from workshop.bench import tune as bench

    wanted = bench.QUICK if quick else {"repeats": repeats}
    _show(_with_bar_and_words(lambda progress, say: bench.run(**wanted, progress=progress, say=say)), as_json)


@app.command()
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
    from workshop.bench import allreduce as bench
    from workshop.report.figures.allreduce import page
    from workshop.workloads.allreduce import WORKLOAD

    params = WORKLOAD.check({"largest": largest, **({"methods": methods} if methods else {})})
    chosen = bench.read_mpis(mpis)
    if save is not None:
        common.writable(save.absolute().parent)
    document = _with_bar(lambda progress: bench.run(chosen, ranks, repeats, params, progress))
    if save is not None:
        save.write_text(page(bench.curves(document["rows"]), bench.possible(document["rows"])))
    if as_json:
        common.answer(document)
        return
    _table(bench.overview(document))
    rest = [row for row in document["rows"] if "bytes" not in row]
    _show({**document, "rows": rest}, as_json)


@app.command()
def federated(
    repeats: Annotated[int, typer.Option(min=1, help="Interleaved repeats of which medians are taken.")] = 3,
    institutions: Annotated[
        str, typer.Option(metavar="A,B,…", help="Among how many institutions the same images are dealt.")
    ] = "2,4,8,16,32,64",
    as_json: common.JSON = False,
) -> None:
    """A round of federated averaging on our ranks against OpenFL's, and what many institutions cost.

    Takes about ten minutes on two cores; without OpenFL (workshop federation install) less, and it says so.
    95 % intervals of medians need 6 repeats or more.
    """
    from workshop.bench import federated as bench

    chosen = bench.read_institutions(institutions)
    _show(_with_bar(lambda progress: bench.run(repeats, institutions=chosen, progress=progress)), as_json)


@app.command()
def peers() -> None:
    """Install what the k-means bench compares with: MPICH and daal4py, each in a prefix of its own."""
    from workshop.bench import kmeans as bench

    err = common.stderr()
    err.print("Installing MPICH and daal4py ...")
    bench.install_peers()
    err.print("Done; `workshop bench kmeans` compares with them.")


@app.command()
def viewers(
    count: Annotated[int, typer.Option("--viewers", min=1, max=500, help="Browsers that watch one run.")] = 40,
    seconds: Annotated[float, typer.Option(min=5, max=300, help="How long they watch.")] = 20,
    as_json: common.JSON = False,
) -> None:
    """How soon many viewers of one live run see a change, and what that costs the server."""
    from workshop.bench import viewers as bench

    _show(bench.run(viewers=count, seconds=seconds), as_json)


@app.command()
def chaos(
    events: Annotated[int, typer.Option(min=1, max=10_000, help="How many processes something happens to.")] = 200,
    seed: Annotated[int, typer.Option(help="The same seed plans the same events.")] = 1,
    as_json: common.JSON = False,
) -> None:
    """Random processes of a session are killed, stopped and terminated: does every run end truly, and the next work?

    Takes about 20 s for each event. Nothing else on this machine is touched.
    """
    from workshop.bench import chaos as bench

    _show(_with_bar_and_words(lambda progress, say: bench.run(events, seed, progress, say)), as_json)


@app.command()
def quiz(
    learners: Annotated[
        str, typer.Option(metavar="A,B,…", help="How many learners answer, a round for each number.")
    ] = "130,500,2000",
    as_json: common.JSON = False,
) -> None:
    """How many learners a live quiz bears: answers within 10 s, and 500 of them within 1 s.

    Takes about four minutes on two cores.
    """
    from workshop.bench import quiz as bench

    chosen = bench.read_learners(learners)
    document = _with_bar(lambda progress: bench.run(chosen, progress=progress))
    if as_json:
        common.answer(document)
        return
    names = ("learners", "seconds", "confirmed", "stored", "lost", "doubled", "p95_answer_s", "p95_next_s")
    _table([names, *([f"{row[name]:.4g}" for name in names] for row in document["rows"])])
