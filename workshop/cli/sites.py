"""The options that say where a session's ranks run: this machine, several hosts, an allocation of Slurm."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workshop.cli.params import Group

if TYPE_CHECKING:
    from workshop.core.placement import Placement

Site = Group(
    address=Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Of this host, by which other hosts and nodes reach it.")
    ],
    slurm=Annotated[bool | None, typer.Option("--slurm", help="Run it in an allocation of Slurm.")],
    partition=Annotated[str | None, typer.Option(metavar="NAME", help="Slurm's partition.")],
    account=Annotated[str | None, typer.Option(metavar="NAME", help="Slurm's account.")],
    time=Annotated[str | None, typer.Option(metavar="MINUTES", help="How long Slurm gives the session.")],
    nodes=Annotated[str | None, typer.Option(metavar="N", help="Nodes of Slurm for the ranks.")],
    wait=Annotated[str | None, typer.Option(metavar="MINUTES", help="How long to wait in Slurm's queue.")],
    template=Annotated[
        Path | None, typer.Option(metavar="FILE", help="An sbatch script to use instead (docs/slurm.md).")
    ],
).only()


def site_from(
    placement: Placement, address: str | None = None, slurm: bool | None = None, **of_slurm: Any
) -> Mapping[str, Any]:
    """The site that these options ask for; without options this machine. Raises BadInput for a site that can't take the
    placement, and for an option of another site."""
    from workshop.core.errors import BadInput
    from workshop.runtime.launchers import site, ssh
    from workshop.runtime.launchers.slurm import commands, script

    where: Mapping[str, Any] = site.LOCAL
    if slurm:
        commands.installed()
        where = script.options(placement, **of_slurm, address=address)
    elif lost := next((name for name, value in of_slurm.items() if value is not None), None):
        raise BadInput(f"--{lost} is for a session on Slurm; give --slurm, too.")
    if placement.hosts:
        where = ssh.options(placement.hosts, address)
    elif address is not None and not slurm:
        raise BadInput("--address is for a session on several hosts; give --hosts or --slurm, too.")
    site.check(where, placement)
    return where
