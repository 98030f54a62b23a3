"""Commands that extensions bring."""

from __future__ import annotations

import sys

import typer

from workshop.cli.params import CommandGroup
from workshop.extension import load
from workshop.registry import commands


def add_commands(app: typer.Typer, group: str) -> None:
    """Add the commands of a group to its app; one that can't be loaded is named on standard error and left out."""
    for command in commands(group).values():
        try:
            function = load(command.function)
        except Exception as error:  # somebody else's package: whatever is wrong with it, ours must go on
            words = f"{group} {command.name}".strip()
            print(f"The command {words} ({command.function}) can't be loaded: {error}", file=sys.stderr)
            continue
        if isinstance(function, typer.Typer):
            app.add_typer(function, name=command.name, cls=CommandGroup)
        else:
            app.command(command.name, **command.options)(function)
