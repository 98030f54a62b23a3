"""Commands that are computed: those that extensions bring, and those whose options are a workload's params or groups
of options that several commands share."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, get_args

import typer

from workshop.extension import Params, help_of, load
from workshop.registry import commands

Option = tuple[str, Any, Any]  # name, annotation, default


def as_options(params: type[Params]) -> list[Option]:
    """An option for each param, taken as text: the model checks it, so that every error reads the same."""
    parameters: list[Option] = []
    for name, field in params.model_fields.items():
        option = typer.Option(f"--{name.replace('_', '-')}", metavar="VALUE", help=help_of(name, field))
        parameters.append((name, Annotated[str | None, option], None))
    return parameters


def given_values(params: type[Params], options: dict[str, Any]) -> dict[str, Any]:
    """The params among a command's options, without the options that nobody gave."""
    values = {name: options.pop(name) for name in params.model_fields}
    return {name: value for name, value in values.items() if value is not None}


def with_options(command: Callable[..., Any], options: Sequence[Option]) -> Callable[..., Any]:
    """A command that takes keywords, with these options: typer reads them off its signature."""
    command.__signature__ = inspect.Signature(
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
            for name, annotation, default in options
        ]
    )
    command.__annotations__ = {name: annotation for name, annotation, _ in options}
    return command


class Group(dict[str, Any]):
    """Options that several commands share: their annotations by name. All of them are optional."""

    def only(self, *names: str) -> Any:
        """The annotation of a parameter for these options, in this order; without names for all options."""
        return Annotated[Mapping[str, Any], Group({name: self[name] for name in names or self})]


def grouped(command: Callable[..., Any]) -> Callable[..., Any]:
    """Replace a command's group parameter by the group's options. The command gets the given values by name."""
    options: list[Option] = []
    groups: dict[str, Group] = {}
    parameters = inspect.signature(command, eval_str=True).parameters
    names = set(parameters)
    for name, parameter in parameters.items():
        if group := next((each for each in get_args(parameter.annotation) if isinstance(each, Group)), None):
            groups[name] = Group({option: annotation for option, annotation in group.items() if option not in names})
            for option in group.keys() & names:  # that somebody's launcher has
                print(f"There is another option {option!r}, which is left out.", file=sys.stderr)
            names |= group.keys()
            options += [(option, annotation, None) for option, annotation in groups[name].items()]
        else:
            options.append((name, parameter.annotation, parameter.default))

    @functools.wraps(command)
    def called(**values: Any) -> Any:
        together = {name: {option: values.pop(option) for option in group} for name, group in groups.items()}
        return command(**values, **together)

    return with_options(called, options)


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
            app.add_typer(function, name=command.name)
        else:
            app.command(command.name, **command.options)(function)
