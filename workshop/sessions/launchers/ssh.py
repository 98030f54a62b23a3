"""Sessions on several hosts, over ssh: mpirun starts a daemon on each, and the daemons start the ranks.

Each other host is asked before ranks start whether it is fit (`preflight`). ssh tells mpirun that a host is lost, and
mpirun ends; a daemon without its mpirun ends the ranks of its host, and itself. All hosts see the session's folder,
where ranks find their conductor. Command lines contain no secret.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from workshop import mpi
from workshop.core import config
from workshop.core.errors import BadInput
from workshop.core.placement import Host, Placement
from workshop.mpi import mapper
from workshop.sessions import preflight
from workshop.sessions.launchers import site
from workshop.sessions.launchers.site import Launch, Reach
from workshop.sessions.preflight import SSH, SSH_OPTIONS

LOST = (None, 255)  # exit codes of an ssh that has not reached its host; None: it was still trying
LOGIN = ("SSH_", "KRB5")  # variables by which ssh finds the keys of whoever started the session


def site_for(placement: Placement, address: str | None = None) -> dict[str, Any]:
    """The site of a placement's hosts."""
    return options(placement.hosts, address)


def options(hosts: Sequence[Host], address: str | None = None) -> dict[str, Any]:
    """The site of these hosts. `address` is this host's address for the other hosts."""
    listed, program = [host.model_dump() for host in hosts], os.environ.get(SSH) or "ssh"
    return {"kind": "hosts", "hosts": listed, "address": address, "ssh": program}


def check_placement(options: Mapping[str, Any], placement: Placement) -> None:
    """Refuse what these hosts can't carry. Raises BadInput."""
    slots = {host["name"]: host["slots"] for host in options["hosts"]}
    session_hosts = ", ".join(f"{name}:{count}" for name, count in slots.items())
    if not placement.hosts:
        raise BadInput(f"The placement names no hosts; the session's are {session_hosts}.")
    for host in placement.hosts:
        if host.name not in slots:
            raise BadInput(f"{host.name} is not a host of this session; its hosts are {session_hosts}.")
        if host.slots > slots[host.name]:
            raise BadInput(f"{host.name} has {slots[host.name]} slots in this session, not {host.slots}.")
    most = site.RANKS_PER_CORE * sum(slots.values())
    if placement.ranks > most:
        raise BadInput(f"ranks is {placement.ranks}: these hosts take at most {most}, {site.RANKS_PER_CORE} per slot.")
    mapper.check(placement)


def trial(options: Mapping[str, Any]) -> list[str]:
    """What keeps a session from these hosts, without starting one. Raises BadInput."""
    with tempfile.TemporaryDirectory(dir=config.home(), prefix="trial-") as folder:
        return SshSite(options, Path(folder), Placement()).look(lambda _: None, lambda: False)


class SshSite(site.Site):
    """Several hosts, among them perhaps this machine."""

    here = False

    def __init__(self, options: Mapping[str, Any], folder: Path, placement: Placement) -> None:
        super().__init__(options, folder, placement)
        self._others = [host["name"] for host in options["hosts"] if not is_here(host["name"])]
        self._lost: str | None = None
        self._reach = Reach()

    def prepare(self, say: Callable[[str], None], give_up: Callable[[], bool]) -> None:
        """Reach every host and compare it with this one. Raises BadInput with everything that isn't right."""
        failures = self.look(say, give_up)
        if give_up():
            raise BadInput("The session was asked to end.")
        if failures:
            raise BadInput("\n".join(failures))

    def look(self, say: Callable[[str], None], give_up: Callable[[], bool]) -> list[str]:
        """Reach every host; returns what isn't right. Raises BadInput where that isn't possible at all."""
        if not self._others:
            return []
        say(f"checking {', '.join(self._others)}")
        requested = self.options["address"]
        address = numeric(requested) if requested else address_towards(self._others)
        if not is_here(address):
            raise BadInput(f"{requested or address} is not an address of this host; give one with --address that is.")
        if shutil.which(self.options["ssh"]) is None:
            raise BadInput(f"{self.options['ssh']} can't be found; install an ssh client.")
        self._reach = Reach(bind=address, address=address)
        return preflight.check(self.options["ssh"], self._others, self.folder, address, give_up)

    @property
    def reach(self) -> Reach:
        return self._reach

    def launch(self, placement: Placement, variables: Mapping[str, str]) -> Launch:
        """The launcher of this host, told how to reach the others and which variables to take along."""
        started, chosen = super().launch(placement, variables), mpi.module_of(placement.mpi)
        ssh = shutil.which(self.options["ssh"]) or self.options["ssh"]
        # Over there the default may be another folder than here.
        environment = {**started.environment, "WORKSHOP_HOME": str(config.home())}
        environment |= chosen.over_ssh(ssh, SSH_OPTIONS)
        names = site.exported(placement, variables)
        if not chosen.FORWARDS:
            return Launch(started.command, [*started.arguments, *chosen.exports(sorted(names))], environment)
        # Such a launcher sends its daemons all that it has, and lets them sort out what ranks get.
        exports = chosen.exports(sorted(names | started.environment.keys()))
        command = [*site.with_only(names | environment.keys(), LOGIN), *started.command]
        return Launch(command, [*started.arguments, *exports], environment)

    def lost(self, died: bool) -> str | None:
        """See `Site.lost`. The hosts are asked where the ranks have died: the launcher may have ended with a host."""
        if self._lost is None and died:
            for host, reply in preflight.ask(self.options["ssh"], self._others, lambda: False, "").items():
                if reply.code in LOST:
                    words = reply.lines[-1] if reply.lines else "it does not answer"
                    self._lost = f"the host {host} is lost: {words.rstrip('.')}."
        return self._lost


def is_here(name: str) -> bool:
    """Whether a host is this machine: by its name, or by an address of one of the interfaces."""
    if name in ("localhost", socket.gethostname(), socket.getfqdn()):
        return True
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind((numeric(name), 0))
    except (BadInput, OSError):
        return False
    return True


def numeric(host: str) -> str:
    """The IPv4 address of a host, which is what controllers and channels bind to. Raises BadInput."""
    try:
        return str(socket.getaddrinfo(host, None, socket.AF_INET, socket.SOCK_DGRAM)[0][4][0])
    except (OSError, UnicodeError) as error:  # UnicodeError: what no name server could know
        raise BadInput(f"{host!r} is no IPv4 address and no name of one; it should be like 10.0.0.1.") from error


def address_towards(hosts: Sequence[str]) -> str:
    """This host's address towards the other hosts, at which they can answer. Raises BadInput where none of them has an
    IPv4 address."""
    for host in hosts:
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.connect((numeric(host), 9))  # sends nothing
                return str(probe.getsockname()[0])
        except (BadInput, OSError):
            continue
    raise BadInput(
        f"None of {', '.join(hosts)} has an IPv4 address that this host knows; correct the hosts, or give the address "
        "of this host with --address where ssh knows them by other names."
    )


Site = SshSite  # see `workshop.sessions.launchers.site`
