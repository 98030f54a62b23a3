"""All commands in one place, and how they end."""

from __future__ import annotations

import sys

import typer

from workshop.cli import demo, horovod, labs, mpi, new, params, place, quiz, runs, session, study, up
from workshop.cli import record as record_commands
from workshop.cli import run as run_commands
from workshop.cli.params import CommandGroup
from workshop.core.errors import WorkshopError

UsageError = typer.BadParameter.__bases__[0]  # typer carries a click of its own and exports no more of it

app = typer.Typer(
    name="workshop",
    help="Teach distributed training on real MPI sessions.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    cls=CommandGroup,
    context_settings={"help_option_names": ["--help", "-h"]},  # which all commands take over
)
app.command("up", help=up.__doc__)(up.up)
app.command("doctor")(up.doctor)
app.add_typer(session.app, name="session", cls=CommandGroup)
app.add_typer(run_commands.app, name="run", cls=CommandGroup)
app.add_typer(runs.app, name="runs", cls=CommandGroup)
app.command("record")(record_commands.record)
app.add_typer(study.app, name="study", cls=CommandGroup)
app.add_typer(quiz.app, name="quiz", cls=CommandGroup)
app.add_typer(labs.app, name="labs", cls=CommandGroup)
params.add_commands(app, "")  # in the middle: what somebody needs first comes first
app.command("place")(place.place)
app.add_typer(demo.app, name="demo", cls=CommandGroup)
app.add_typer(mpi.app, name="mpi", cls=CommandGroup)
app.add_typer(horovod.app, name="horovod", cls=CommandGroup)
app.add_typer(new.app, name="new", cls=CommandGroup)


def run(words: list[str]) -> int:
    """Do what the words of a command line say; returns the exit code."""
    try:
        code = app(words, prog_name="workshop", standalone_mode=False)
    except WorkshopError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except UsageError as error:
        print(error.format_message(), file=sys.stderr)
        return 2
    except typer.Abort:  # a command that says by itself how far it came returns 130
        print("Interrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 1  # whoever read our output has gone
    return code if isinstance(code, int) else 0
