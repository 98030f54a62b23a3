"""Options of `workshop up` that are looked at before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from workshop.cli import up
from workshop.cli.main import run
from workshop.core.ports import free_port, free_ports
from workshop.store.store import Store
from workshop.web import address
from workshop.web.address import Dashboard


@pytest.mark.real
@pytest.mark.parametrize(
    "origin", ["*", "http://*", "lab.example.org", "http://a.org; script-src *", "http://a.org/path", "http://a b"]
)
def test_only_an_origin_can_frame_the_dashboard(
    workshop_home: Path, origin: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["up", "--port", str(free_port()), "--no-lab", "--framed-by", origin]) == 2
    assert "it should be like http://lab.example.org:8000" in capsys.readouterr().err


@pytest.mark.parametrize("proxy", ["*", "proxy.example.org", "10.0.0.0/8", "127.0.0.1,10.0.0.1"])
def test_only_one_address_is_a_proxy(workshop_home: Path, proxy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["up", "--port", str(free_port()), "--no-lab", "--proxy", proxy]) == 2
    assert "it should be one IP address like 127.0.0.1" in capsys.readouterr().err


@pytest.mark.real
def test_a_hubs_pages_can_frame_the_dashboard(workshop_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its address reaches the dashboard's server beside that of our own JupyterLab."""
    given: list[list[str]] = []

    def kept(store: Store, all_children: object, dashboard: Dashboard, *_: object) -> None:
        store.close()
        dashboard.start()

    monkeypatch.setattr(up, "keep_up", kept)
    monkeypatch.setattr(address, "serve", lambda command, log, _: given.append(command))
    mine, labs = map(str, free_ports(2))
    hub = "https://lab.example.org:8000"
    assert run(["up", "--port", mine, "--framed-by", f"{hub}/", "--lab-port", labs]) == 0
    proxied = ["--framed-by", "http://[::1]", "--proxy", "::1"]
    assert run(["up", "--port", mine, "--no-lab", "--framed-by", hub, *proxied]) == 0
    assert "--proxy" not in given[0] and given[1][given[1].index("--proxy") + 1] == "::1"
    framed = [command[command.index("--framed-by") + 1].split() for command in given]
    assert framed == [[f"http://127.0.0.1:{labs}", f"http://localhost:{labs}", hub], [hub, "http://[::1]"]]
