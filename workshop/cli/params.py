"""Commands whose options are made: from a workload's params, or in groups that several commands have."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, get_args

import typer

from workshop.extension import Params, help_of

Option = tuple[str, Any, Any]  # name, annotation, default


def as_options(params: type[Params]) -> list[Option]:
    """An option for each param, taken as text: the model checks it, so that every error reads the same."""
    parameters: list[Option] = []
    for name, field in params.model_fields.items():
        option = typer.Option(f"--{name.replace('_', '-')}", metavar="VALUE", help=help_of(name, field))
        parameters.append((name, Annotated[str | None, option], None))
    return parameters


def given(params: type[Params], options: dict[str, Any]) -> dict[str, Any]:
    """Takes those that are params out of a command's options; those that nobody gave are left out."""
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
    """Options that several commands take together: their annotations by name. None of them has to be given."""

    def only(self, *names: str) -> Any:
        """The annotation of a parameter for these options, in this order; for all of them without names."""
        return Annotated[Mapping[str, Any], Group({name: self[name] for name in names or self})]


def grouped(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command one of whose parameters is a group: it gets what was given for each option of it, by name."""
    options: list[Option] = []
    groups: dict[str, Group] = {}
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        if group := next((one for one in get_args(parameter.annotation) if isinstance(one, Group)), None):
            groups[name] = group
            options += [(option, annotation, None) for option, annotation in group.items()]
        else:
            options.append((name, parameter.annotation, parameter.default))

    @functools.wraps(command)
    def called(**values: Any) -> Any:
        together = {name: {option: values.pop(option) for option in group} for name, group in groups.items()}
        return command(**values, **together)

    return with_options(called, options)
