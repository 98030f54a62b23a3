"""Ports that nobody gets by chance."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from workshop.core import ports
from workshop.core.errors import WorkshopError


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


def test_the_kernel_tells_which_it_gives() -> None:
    with socket.socket() as one:
        one.bind((ports.HERE, 0))
        first, last = ports._given_by_chance()
        assert first <= one.getsockname()[1] <= last


@pytest.mark.parametrize("told", [f"{ports.LOWEST}\t65535\n", "1024 65000", f"{ports.LOWEST + 1} 65535"])
def test_where_the_kernel_gives_nearly_all_of_them_there_is_still_one(
    told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ports, "_BY_CHANCE", tmp_path / "range")
    (tmp_path / "range").write_text(told)
    assert 0 < ports.free_port() < 1 << 16


def test_where_the_kernel_tells_nothing_its_default_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_BY_CHANCE", tmp_path / "none")
    assert not 32_768 <= ports.free_port() <= 60_999


def test_an_address_of_another_machine_has_none() -> None:
    with pytest.raises(WorkshopError, match=r"listen at 192\.0\.2\.1 \(Cannot assign"):
        ports.free_ports(1, "192.0.2.1")  # RFC 5737: nobody's


def test_what_is_taken_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (taken,) = ports.free_ports(1)
    monkeypatch.setattr(ports, "_BY_CHANCE", tmp_path / "range")
    monkeypatch.setattr(ports, "LOWEST", taken)
    (tmp_path / "range").write_text(f"{taken + 1} 65535")
    with socket.socket() as one:
        one.bind((ports.HERE, taken))
        assert ports.free_port() != taken
