"""What extensions bring, by name: of two with one name the workshop's own counts, and broken ones are left out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from workshop import registry
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.extension import Extension, Failure, Lab, Page, Params, Workload


def brings(title: str, name: str = "one", **more: Any) -> Extension:
    return Extension(workloads=(Workload(name, title, "Does it.", Params, "nowhere:run"),), **more)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, object]]:
    """The only entry points that there are: an extension, or whatever else, by module and name."""
    given: dict[str, object] = {}

    def entry_points(group: str) -> list[EntryPoint]:
        found = []
        for place, value in given.items():
            module, _, name = place.partition(":")
            monkeypatch.setitem(sys.modules, module, ModuleType(module))
            if value is not None:
                setattr(sys.modules[module], name, value)
            found.append(EntryPoint(name, f"{module}:{name}", group))
        return found

    monkeypatch.setattr(registry, "entry_points", entry_points)
    registry.forget()
    yield given
    registry.forget()


def test_of_two_with_one_name_our_own_counts(installed: dict[str, object], capsys: pytest.CaptureFixture[str]) -> None:
    installed |= {"other:aaa": brings("Theirs"), "workshop.own_thing:zzz": brings("Ours")}
    assert [one.title for one in registry.workloads().values()] == ["Ours"]
    assert capsys.readouterr().err == (
        "There are two of the workload 'one': that of workshop.own_thing:zzz counts, that of other:aaa is left out.\n"
    )


def test_a_broken_extension_is_named_and_left_out(
    installed: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    installed |= {"gone:absent": None, "good:good": brings("Good"), "wrong:wrong": {"workloads": []}}
    assert [one.title for one in registry.workloads().values()] == ["Good"]
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2
    assert "The extension absent (gone:absent) can't be loaded" in told[0]
    assert "The extension wrong (wrong:wrong) can't be loaded: it is a dict, and should be" in told[1]
    registry.workloads()
    assert capsys.readouterr().err == "", "it is told once"


def test_pages_have_an_order_and_labs_a_name_each(
    installed: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    pages = [Page("last", "Last", "home", "x:main", 900), Page("usual", "Usual", "home", "x:main")]
    installed["a:a"] = Extension(pages=pages, labs=(Lab(Path("/here/rings")),))
    installed["b:b"] = Extension(pages=(Page("first", "First", "home", "x:main", 1),), labs=(Lab(Path("/x/rings")),))
    assert [page.name for page in registry.pages()] == ["first", "usual", "last"]
    assert [lab.folder for lab in registry.labs()] == [Path("/here/rings")]
    assert "the lab 'rings': that of a:a counts, that of b:b is left out" in capsys.readouterr().err


def test_an_unknown_workload_is_told_with_the_known_ones(installed: dict[str, object]) -> None:
    installed["a:a"] = brings("One")
    with pytest.raises(BadInput, match="There is no workload 'two'; there are one"):
        registry.workload("two")


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
    assert list(registry.workloads()) == ["b", "a"]
    assert (registry.workload_title("b"), registry.workload_title("gone")) == ("B", "gone")


def test_without_a_workload_that_is_said(alone: list[Extension]) -> None:
    with pytest.raises(BadInput, match="No workload is installed"):
        registry.first_workload()


def test_failures_that_cannot_be_shown_are_left_out(
    installed: dict[str, object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = Placement(ranks=2), Placement(ranks=1)
    late = Failure("late", "Late", "It is late.", "one", {}, first, second, "time", "Late", order=900)
    early = Failure("early", "Early", "It is early.", "one", {}, first, second, "time", "Early", order=1)
    module = ModuleType("brings_failures")
    vars(module)["failures"] = lambda cores, hosts, mpis: [late, early]
    monkeypatch.setitem(sys.modules, "brings_failures", module)
    works = Workload("one", "One", "Does it.", Params, "x:run", failures="brings_failures:failures")
    fails = Workload("two", "Two", "Does it.", Params, "x:run", failures="brings_failures:nothing")
    installed["a:a"] = Extension(workloads=(works, fails))
    assert list(registry.failures(2, (), ())) == ["early", "late"]
    assert "The guided failures of two can't be shown" in capsys.readouterr().err
