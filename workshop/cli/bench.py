"""Measure speed, ours and others' side by side in one run."""

from __future__ import annotations

from typing import Annotated

import typer

from workshop.cli import bench_output, common, params

app = typer.Typer(help=__doc__, no_args_is_help=True)
params.add_commands(app, "bench")


@app.command()
def start(
    repeats: Annotated[int, typer.Option(min=1, help="Interleaved repeats of which medians are taken.")] = 5,
    no_wait: common.NoWait = False,
    as_json: common.JSON = False,
) -> None:
    """Seconds from submitting a run to its first step: k-means and mnist; cold, warm, and with another placement."""
    from workshop.bench import start as bench

    document = bench_output.alone(lambda progress, _: bench.run(repeats=repeats, progress=progress), no_wait)
    bench_output.show(document, as_json)


@app.command()
def viewers(
    count: Annotated[int, typer.Option("--viewers", min=1, max=500, help="Browsers that watch one run.")] = 40,
    seconds: Annotated[float, typer.Option(min=5, max=300, help="How long they watch.")] = 20,
    as_json: common.JSON = False,
) -> None:
    """How soon many viewers of one live run see a change, and what that costs the server."""
    from workshop.bench import viewers as bench

    bench_output.show(bench.run(viewers=count, seconds=seconds), as_json)


pages = bench_output.command(
    "workshop.bench.pages:run",
    "Seconds until each page of the dashboard has its content, for the instructor and for a learner.",
    repeats=5,
    least=1,
)
app.command("pages")(pages)


@app.command()
def chaos(
    events: Annotated[int, typer.Option(min=1, max=10_000, help="How many processes something happens to.")] = 200,
    seed: Annotated[int, typer.Option(help="The same seed plans the same events.")] = 1,
    as_json: common.JSON = False,
) -> None:
    """Random processes of a session are killed, stopped and terminated: does every run end truly, and the next work?

    Nothing else on this machine is touched.
    """
    from workshop.bench import chaos as bench

    bench_output.show(bench_output.with_bar(lambda progress, say: bench.run(events, seed, progress, say)), as_json)


@app.command()
def quiz(
    learners: Annotated[
        str, typer.Option(metavar="A,B,…", help="How many learners answer, a round for each number.")
    ] = "130,500,2000",
    as_json: common.JSON = False,
) -> None:
    """How many learners a live quiz bears: answers within 10 s, and 500 of them within 1 s."""
    from workshop.bench import quiz as bench

    chosen = bench.read_learners(learners)
    document = bench_output.with_bar(lambda progress, _: bench.run(chosen, progress=progress))
    names = ("learners", "seconds", "confirmed", "stored", "lost", "doubled", "p95_answer_s", "p95_next_s")
    rows = [[f"{row[name]:.4g}" for name in names] for row in document["rows"]]
    common.listing(as_json, document, names, rows)
    bench_output.end(document)
