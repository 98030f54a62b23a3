"""`workshop new workload` writes a package whose parts belong together, and refuses names that can't be."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from workshop.cli import new
from workshop.cli.main import run
from workshop.course import catalogue, description
from workshop.quiz import reader


def test_it_says_what_it_wrote_and_what_to_type_next(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["new", "workload", "heat_flow", "--folder", str(tmp_path / "mine")]) == 0
    lines = capsys.readouterr().out.splitlines()
    package = tmp_path / "mine" / "heat-flow-workshop"
    assert lines[0] == f"{package} is written:"
    assert "  heat_flow_workshop/labs/heat-flow/notebook.md" in lines
    assert lines[-3] == "Next, type:"
    assert lines[-2].endswith(f"--no-deps -e {package}")
    assert lines[-1] == "  workshop run heat_flow"
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    assert project["entry-points"] == {"workshop.extensions": {"heat_flow": "heat_flow_workshop:EXTENSION"}}


def test_no_name_of_the_template_is_left(tmp_path: Path) -> None:
    package = new.write_workload("heat_flow", tmp_path)
    for path in new.files(package):
        for text in (str(path.relative_to(package)), path.read_text()):
            assert not any(name in text for name in ("my_workload", "my-workload", "MyWorkload", "My workload")), path
    assert len(new.files(package)) == len(new.files(new.WORKLOAD))
    assert "class HeatFlowParams" in (package / "heat_flow_workshop" / "__init__.py").read_text()


@pytest.mark.parametrize("name", ["heat", "a_name_of_the_longest_kind_yes"])
def test_its_lab_and_deck_have_no_problems(tmp_path: Path, name: str) -> None:
    folder = new.write_workload(name, tmp_path) / f"{name}_workshop" / "labs"
    assert catalogue.problems(folder) == []
    (lab,) = catalogue.folders(folder)
    numbers = [described.number for _, described in catalogue.readable()]
    assert description.read(lab).number == max(numbers) + 1
    assert len(reader.read(lab / reader.FILE, thorough=True).questions) == 3


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Heat", "can't be the name"),
        ("../heat", "can't be the name"),
        ("kmeans", "There is a workload 'kmeans' already"),
        ("first", "There is a lab 'first' already"),
    ],
)
def test_names_that_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, said: str) -> None:
    assert run(["new", "workload", name, "--folder", str(tmp_path)]) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert told.err.count("\n") == 1
    assert told.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_or_cant_be_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    kept = tmp_path / "heat-workshop"
    kept.mkdir()
    assert run(["new", "workload", "heat", "--folder", str(tmp_path)]) == 2
    assert f"{kept} is there already" in capsys.readouterr().err
    assert list(kept.iterdir()) == []
    (tmp_path / "file").write_text("")
    assert run(["new", "workload", "heat", "--folder", str(tmp_path / "file")]) == 2
    assert "can't be written (Not a directory)" in capsys.readouterr().err


def test_labs_of_two_new_packages_may_have_one_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labs = [new.write_workload(name, tmp_path) / f"{name}_workshop" / "labs" / name for name in ("warm", "cold")]
    assert len({description.read(lab).number for lab in labs}) == 1
    monkeypatch.setattr(catalogue, "folders", lambda _: labs)
    assert catalogue.problems() == []
