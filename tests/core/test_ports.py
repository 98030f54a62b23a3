"""Ports that nobody gets by chance."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from workshop.core import ports


def test_a_free_port_can_be_listened_on() -> None:
    with socket.socket() as listening:
        listening.bind((ports.HERE, ports.free_port()))


def test_they_are_different_and_not_those_that_the_kernel_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ports, "_BY_CHANCE", tmp_path / "range")
    (tmp_path / "range").write_text("12000\t64000\n")
    found = ports.free_ports(200)
    assert len(set(found)) == 200
    assert all(ports.LOWEST <= port < 12_000 or 64_000 < port < 1 << 16 for port in found)


@pytest.mark.parametrize("told", [f"{ports.LOWEST}\t65535\n", "1024 65000", f"{ports.LOWEST + 1} 65535"])
def test_where_the_kernel_gives_nearly_all_of_them_there_is_still_one(
    told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ports, "_BY_CHANCE", tmp_path / "range")
    (tmp_path / "range").write_text(told)
    assert 0 < ports.free_port() < 1 << 16
