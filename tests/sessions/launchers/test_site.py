"""What leaves this machine with a launcher: it sends its daemons all the variables that it has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import mpis
from workshop.core import topology
from workshop.core.errors import BadInput
from workshop.core.placement import Placement, hosts_from
from workshop.sessions.launchers import site, ssh

SECRETS = {"WORKSHOP_DATABASE_URL": "postgresql://user:secret@host/db", "IPP_CONNECTION_INFO": "{}", "TOKEN": "x"}


def had(command: list[str], variables: dict[str, str]) -> dict[str, str]:
    """The variables of what is started with `command` in front."""
    asked = [*command, sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"]
    return json.loads(subprocess.run(asked, env=os.environ | variables, capture_output=True, check=True).stdout)


@pytest.mark.real
def test_a_launcher_gets_what_it_needs_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**SECRETS, "OMPI_MCA_btl": "tcp", "MINE": "1", "SSH_AUTH_SOCK": "/s"}.items():
        monkeypatch.setenv(name, value)
    found = had(site.with_only({"MINE"}), {})
    assert not {*SECRETS, "SSH_AUTH_SOCK"} & found.keys()
    assert found.keys() >= {"PATH", "HOME", "OMPI_MCA_btl", "MINE"}
    assert found["PATH"] == os.environ["PATH"]
    assert "SSH_AUTH_SOCK" in had(site.with_only({"MINE"}, ("SSH_",)), {})


@pytest.mark.real
@pytest.mark.parametrize("mpi", ["mpich", "intelmpi"])
def test_hydra_sends_no_secret_to_other_hosts(
    workshop_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mpi: str
) -> None:
    """Told which variables ranks get, it still sends its daemons all of them."""
    mpis.use(workshop_home, mpi)
    for name, value in {**SECRETS, "SSH_AUTH_SOCK": "/s", "FI_PROVIDER": "tcp"}.items():
        monkeypatch.setenv(name, value)
    placement = Placement(ranks=2, mpi=mpi, hosts=hosts_from("hostA:1,hostB:1"), environment={"OMP_PROC_BIND": "true"})
    launch = ssh.Site(ssh.options(placement.hosts), tmp_path, placement).launch(placement, {"NEEDED": "x"})
    found = had(launch.command[:-1], launch.environment | {"IPP_PROFILE_DIR": "/profile"})
    assert not SECRETS.keys() & found.keys()
    needed = {"NEEDED", "OMP_PROC_BIND", "OMP_NUM_THREADS", "WORKSHOP_HOME", "IPP_PROFILE_DIR", "PATH", "HOME"}
    assert found.keys() >= needed | {"SSH_AUTH_SOCK", "FI_PROVIDER"}
    exported = launch.arguments[launch.arguments.index("-genvlist") + 1].split(",")
    assert not {*SECRETS, "SSH_AUTH_SOCK"} & set(exported)


@pytest.mark.real
@pytest.mark.parametrize("asked", [{"ranks": 64, "bind_to": "core"}, {"ranks": 1, "cores_per_rank": 64}])
def test_a_refused_placement_says_what_to_do_above_the_mpis_own_lines(
    asked: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site, "RANKS_PER_CORE", 64)
    with pytest.raises(BadInput) as refused:
        site.check(site.LOCAL, Placement.parse(asked))
    advice, whose, *own = str(refused.value).splitlines()
    assert "cores; you placed " in advice and " Try " in advice and advice.endswith(".")
    assert whose == "Open MPI refuses this placement, in its own words:" and len(own) > 3


@pytest.mark.real
def test_the_mapper_is_not_asked_for_advice_where_the_cores_say_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Placement] = []
    monkeypatch.setattr(site.mapper, "predict", lambda placement, _: asked.append(placement))
    cores = topology.allowed_cores(topology.machine())
    with pytest.raises(BadInput, match=f"has {cores} cores; you placed {4 * cores} ranks. Try fewer ranks"):
        site.check(site.LOCAL, Placement(ranks=4 * cores, bind_to="core"))
    assert asked == []
