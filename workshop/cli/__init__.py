"""The command line. Thin: every command checks its words, calls the package and shows the answer.

`--json` prints one JSON document on standard output, everything else goes to standard error.
Exit 0: done; 1: the run (or what was asked for) failed; 2: bad input.
"""

from __future__ import annotations

import sys

import typer

from workshop.cli import bench, mpi, run, runs, session, up
from workshop.errors import WorkshopError

UsageError = typer.BadParameter.__bases__[0]  # typer carries a click of its own and exports no more of it

app = typer.Typer(
    name="workshop",
    help="Teach distributed training on real MPI sessions.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("up", help=up.__doc__)(up.up)
app.command("doctor")(up.doctor)
app.add_typer(session.app, name="session")
app.add_typer(run.app, name="run")
app.add_typer(runs.app, name="runs")
app.add_typer(bench.app, name="bench")
app.add_typer(mpi.app, name="mpi")


def main() -> None:
    """The `workshop` command: every error that a person can cause ends as one sentence."""
    try:
        code = app(standalone_mode=False)
    except WorkshopError as error:
        print(error, file=sys.stderr)
        code = error.exit_code
    except UsageError as error:
        print(error.format_message(), file=sys.stderr)
        code = 2
    except (typer.Abort, KeyboardInterrupt):
        print("Interrupted.", file=sys.stderr)
        code = 1
    except BrokenPipeError:
        code = 1  # whoever read our output has gone
    sys.exit(code if isinstance(code, int) else 0)
