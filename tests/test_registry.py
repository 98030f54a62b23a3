"""What installed extensions bring, by name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from workshop import registry
from workshop.cli.main import app
from workshop.core.errors import BadInput
from workshop.extension import Extension, Params, Software, Workload

OTHERS = [Workload(name, name.capitalize(), "", Params, "x:y", order=order) for name, order in (("a", 300), ("b", 50))]


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Extension]]:
    """The extensions that there are, none to begin with."""
    found: list[Extension] = []
    with monkeypatch.context() as patch:
        registry.forget()
        patch.setattr(registry, "extensions", lambda: found)
        yield found
    registry.forget()


def test_forms_begin_with_the_lowest_order(alone: list[Extension]) -> None:
    alone.append(Extension(workloads=OTHERS))
    assert registry.first_workload().name == "b"
    assert list(registry.workloads()) == ["a", "b"]


def test_forms_begin_with_k_means() -> None:
    assert registry.first_workload().name == "kmeans"


def test_without_a_workload_that_is_said(alone: list[Extension]) -> None:
    with pytest.raises(BadInput, match="No workload is installed"):
        registry.first_workload()


def test_software_is_installed_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "daal4py" in registry.software()
    software = Software("tool", f"{__name__}:installed")
    monkeypatch.setattr(registry, "software", lambda: {"tool": software})
    done = CliRunner().invoke(app, ["mpi", "install", "tool", "--json"])
    assert json.loads(done.stdout) == {"mpi": "tool", "prefix": "/opt/tool"}


def installed() -> Path:
    return Path("/opt/tool")
