"""Commands whose options are a workload's params."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any

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
