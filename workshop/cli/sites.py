"""The options that say where a session's ranks run. Each launcher brings its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workshop.cli.params import Group
from workshop.registry import launchers

if TYPE_CHECKING:
    from workshop.core.placement import Placement
    from workshop.extension import Launcher


def _options() -> Group:
    """The options of all launchers by name; the flag that asks for a launcher comes before that launcher's own."""
    group = Group()
    for launcher in launchers().values():
        if launcher.flag:
            flag = typer.Option(_dashed(launcher.name), help=launcher.flag)
            group.setdefault(launcher.name, Annotated[bool | None, flag])
        for option in launcher.options:
            option_type = typer.Option(_dashed(option.name), metavar=option.metavar, help=option.help)
            group.setdefault(option.name, Annotated[str | None, option_type])
    return group


def _dashed(name: str) -> str:
    return f"--{name.replace('_', '-')}"


Site = _options().only()


def site_from(placement: Placement, **options: Any) -> Mapping[str, Any]:
    """The site that these options ask for; without options this machine, or the hosts of the placement. Raises BadInput
    for a site that can't take the placement, and for an option of another site."""
    from workshop.core import words
    from workshop.core.errors import BadInput
    from workshop.runtime.launchers import site

    flags = {name: launcher for name, launcher in launchers().items() if launcher.flag}
    requested = [name for name in flags if options.pop(name, None)]
    if len(requested) > 1:
        raise BadInput(f"{words.listed(map(_dashed, requested))} exclude each other; give one of them.")
    where = site.usual(placement)
    chosen = launchers()[requested[0] if requested else where["kind"]]
    own_options = {option.name: options.get(option.name) for option in chosen.options}
    if lost := next((name for name, value in options.items() if value is not None and name not in own_options), None):
        takers = [launcher for launcher in launchers().values() if lost in (option.name for option in launcher.options)]
        titles = words.listed((launcher.title for launcher in takers), "or")
        ways = words.listed((_way(launcher) for launcher in takers), "or")
        raise BadInput(f"{_dashed(lost)} is for a session on {titles}; give {ways}, too.")
    if requested or chosen.options:
        where = site.requested(chosen.name, placement, own_options)
    site.check(where, placement)
    return where


def _way(launcher: Launcher) -> str:
    """The option by which people ask for a launcher."""
    return _dashed(launcher.name) if launcher.flag else "--hosts"
