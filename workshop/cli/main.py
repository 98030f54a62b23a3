"""All commands in one place, and how they end."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import workshop
from workshop.cli import common, demo, labs, mpi, new, place, quiz, runs, session, study, up
from workshop.cli import record as record_commands
from workshop.cli import run as run_commands
from workshop.core.errors import WorkshopError

UsageError = typer.BadParameter.__bases__[0]  # typer carries a click of its own and exports no more of it

FIRST = ("up", "doctor", "run", "place", "study", "labs")  # what a newcomer needs


class _FirstOnes(TyperGroup):
    """The commands, of which those that a newcomer needs come first."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(self.commands, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))


app = typer.Typer(
    name="workshop",
    cls=_FirstOnes,
    help="Teach distributed training on real MPI sessions.",
    epilog="More commands: record, demo, mpi, horovod, new.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},  # which all commands take over
)


def _tell_version(version: bool) -> None:
    if version:
        print(f"workshop {workshop.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version, and end.")
    ] = False,
) -> None:
    pass


app.command("up", help=up.__doc__)(up.up)
app.command("doctor")(up.doctor)
app.add_typer(run_commands.app, name="run")
app.command("place")(place.place)
app.add_typer(study.app, name="study")
app.add_typer(labs.app, name="labs")
app.add_typer(quiz.app, name="quiz")
app.add_typer(runs.app, name="runs")
app.add_typer(session.app, name="session")
common.add_commands(app, "")
app.command("record", hidden=True)(record_commands.record)
for other in (demo.app, mpi.app, mpi.horovod_app, new.app):
    app.add_typer(other, hidden=True)


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
