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
    found = Group()
    for launcher in launchers().values():
        if launcher.flag:
            asked = typer.Option(_dashed(launcher.name), help=launcher.flag)
            found.setdefault(launcher.name, Annotated[bool | None, asked])
        for option in launcher.options:
            said = typer.Option(_dashed(option.name), metavar=option.metavar, help=option.help)
            found.setdefault(option.name, Annotated[str | None, said])
    return found


def _dashed(name: str) -> str:
    return f"--{name.replace('_', '-')}"


Site = _options().only()


def site_from(placement: Placement, **given: Any) -> Mapping[str, Any]:
    """The site that these options ask for; without options this machine, or the hosts of the placement. Raises BadInput
    for a site that can't take the placement, and for an option of another site."""
    from workshop.core import words
    from workshop.core.errors import BadInput
    from workshop.runtime.launchers import site

    flags = {name: one for name, one in launchers().items() if one.flag}
    asked = [name for name in flags if given.pop(name, None)]
    if len(asked) > 1:
        raise BadInput(f"{words.listed(map(_dashed, asked))} exclude each other; give one of them.")
    where = site.usual(placement)
    chosen = launchers()[asked[0] if asked else where["kind"]]
    own = {one.name: given.get(one.name) for one in chosen.options}
    if lost := next((name for name, value in given.items() if value is not None and name not in own), None):
        takers = [one for one in launchers().values() if lost in (option.name for option in one.options)]
        titles = words.listed((one.title for one in takers), "or")
        ways = words.listed((_way(one) for one in takers), "or")
        raise BadInput(f"{_dashed(lost)} is for a session on {titles}; give {ways}, too.")
    if asked or chosen.options:
        where = site.asked(chosen.name, placement, own)
    site.check(where, placement)
    return where


def _way(launcher: Launcher) -> str:
    """The option by which people ask for a launcher."""
    return _dashed(launcher.name) if launcher.flag else "--hosts"
