"""A package brings an MPI, a launcher and a type of questions: the command line, the form, sessions and quizzes know
them as they know our own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.support import limit
from workshop import registry
from workshop.cli import common, show_quiz
from workshop.core import machines
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.extension import MPI, Extension, Launcher, LauncherOption
from workshop.mpi import command_lines, inventory, mapper, words
from workshop.quiz import reader, self_study
from workshop.quiz.gift.writer import write
from workshop.quiz.results import reader as results
from workshop.quiz.results.findings import find
from workshop.quiz.self_study import QuizLearner
from workshop.store.store import Store

PACKAGE = Path(__file__).parent / "brought"
MAIN = "from workshop.cli import main; main()"
OURS = ["openmpi", "mpich", "intelmpi"]


@pytest.fixture
def brought(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package, among our own extensions."""
    monkeypatch.syspath_prepend(str(PACKAGE))
    registry.forget()
    yield
    monkeypatch.undo()
    registry.forget()
    for name in [name for name in sys.modules if name.startswith("brought_workshop")]:
        del sys.modules[name]


CLAIM = """
deck: claims
title: Claims
questions:
  - {id: ring, type: claim, text: A ring has an end., holds: false, explanation: It has none.}
"""


def test_a_type_of_questions_works_from_the_deck_to_the_results(brought: None, store: Store) -> None:
    deck = reader.parse(CLAIM, "claims.yaml")
    assert reader.parse(reader.dump(deck), "again.yaml") == deck
    with pytest.raises(reader.BadDeck, match="holds is missing"):
        reader.parse(CLAIM.replace(", holds: false", ""), "claims.yaml")
    assert "Claim" in reader.schema()["$defs"]
    mine = self_study.begin(store, deck, QuizLearner(None, "Ada"))
    before = mine.view("ring", lambda question, picture: "")
    assert (before["shown"]["type"], before["shown"]["form"], before["solution"]) == ("claim", "text", None)
    assert "holds" not in str(show_quiz.without_answers(deck))
    with pytest.raises(BadInput, match="A claim is true or false"):
        mine.answer("ring", "perhaps")
    mine.answer("ring", "false")
    after = mine.view("ring", lambda question, picture: "")
    assert (after["answer"], after["mark"]["right"], after["solution"]["html"]) == ("false", True, "<p>false</p>")
    (item,) = find(results.read(store, mine.round.id)).items
    assert [(choice.text, choice.right, choice.count) for choice in item.chosen] == [("False", True, 1)]
    drawn = mine.variant("ring")
    assert drawn.question.distribution(drawn, [False, True])["answers"][0]["text"] == "false"
    with pytest.raises(BadInput, match="no question that GIFT can carry; it holds a claim"):
        write(deck)


def test_without_the_package_its_type_is_none_that_there_is() -> None:
    with pytest.raises(reader.BadDeck, match="type is 'claim'; it should be one of single"):
        reader.parse(CLAIM, "claims.yaml")


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An MPI and a launcher whose modules can't be imported, beside our own."""
    found = [
        *registry.extensions(),
        Extension(mpis=(MPI("gone", "Gone", "not_there"),), launchers=(Launcher("lost", "not_there", flag="Lost."),)),
    ]
    with monkeypatch.context() as patch:
        registry.forget()
        patch.setattr(registry, "extensions", lambda: found)
        yield
    registry.forget()


def workshop(*said: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(PACKAGE), "COLUMNS": "80", "NO_COLOR": "1"}
    command = [sys.executable, "-c", MAIN, *said]
    return subprocess.run(command, capture_output=True, text=True, timeout=limit(120), env=environment)


def answer(*said: str) -> dict:
    ended = workshop(*said, "--json")
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_they_come_after_our_own(brought: None) -> None:
    assert list(registry.mpis()) == [*OURS, "thin"]
    assert list(registry.launchers()) == ["local", "hosts", "slurm", "box"]
    assert registry.mpi("slim").name == "thin"
    assert "thin" in inventory.installed()
    assert registry.placement({"mpi": "slim"}).mpi == "thin"


def test_without_the_package_its_mpi_is_told_with_those_there_are() -> None:
    with pytest.raises(BadInput, match="mpi is 'thin': it should be openmpi, mpich or intelmpi"):
        registry.placement({"mpi": "thin"})
    assert Placement.parse({"mpi": "thin"}).describe().endswith("thin"), "stored runs can still be read"


def test_a_placement_is_predicted_and_written(brought: None) -> None:
    placement, machine = registry.placement({"mpi": "thin", "ranks": 2, "map_by": "package"}), machines.read("2x4x2")
    ours = placement.model_copy(update={"mpi": "openmpi"})
    written = command_lines.commands(placement, machine)
    assert list(written) == [*OURS, "thin", "mpirun_rsh", "horovodrun", "sbatch"]
    assert written["thin"] == written["openmpi"]
    assert command_lines.titles()["thin"] == "Thin MPI"
    assert words.parse(written["thin"], placement, machine).placement == placement
    assert words.parse(written["thin"], ours, machine).placement == ours


def test_the_mapper_is_the_one_that_it_names(brought: None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        mapper, "ask_openmpi", lambda *given: asked.append(given[0].mpi) or mapper.Prediction(refused="no")
    )
    mapper.predict(registry.placement({"mpi": "thin"}), machines.read("2x4x2"))
    assert asked == ["thin"]


def _form() -> None:
    import streamlit as st

    from workshop.pages.fields import placement_form

    st.session_state["read"] = placement_form({"mpi": "openmpi"}, "here")


def test_the_form_offers_the_mpi(brought: None) -> None:
    page = AppTest.from_function(_form, default_timeout=limit(30)).run()
    assert not page.exception
    (control,) = [one for one in page.segmented_control if one.key == "here-mpi"]
    assert control.options[0] == "Open MPI" and control.options[-1] == "Thin MPI"
    control.set_value("thin").run()
    assert page.session_state["read"]["mpi"] == "thin"


def test_options_ask_for_the_launcher(brought: None) -> None:
    where = Placement(ranks=2)
    assert {"address", "slurm", "partition", "box", "shelf"} <= common._options().keys()
    assert common.site_from(where, box=True, shelf="3") == {"kind": "box", "shelf": "3"}
    assert common.site_from(where, box=None, shelf=None) == {"kind": "local"}
    for given, says in (
        ({"shelf": "3"}, "--shelf is for a session on a box; give --box, too."),
        ({"box": True, "shelf": "top"}, "--shelf is 'top': it should be a number."),
        ({"box": True, "slurm": True}, "--slurm and --box exclude each other; give one of them."),
        ({"box": True, "partition": "p"}, "--partition is for a session on Slurm; give --slurm, too."),
        (
            {"address": "10.0.0.1"},
            "--address is for a session on several hosts or Slurm; give --hosts or --slurm, too.",
        ),
    ):
        with pytest.raises(BadInput) as error:
            common.site_from(where, **given)
        assert str(error.value) == says


def test_names_that_cannot_be_options_are_refused() -> None:
    with pytest.raises(ValueError, match="needs a name like"):
        Launcher("Big Box", "x")
    with pytest.raises(ValueError, match="needs a name like"):
        LauncherOption("big-shelf", "N", "")


def test_what_cannot_be_imported_is_said_and_left_out(broken: None) -> None:
    assert "can't be used, because not_there can't be imported" in inventory.mpis()["gone"]["note"]
    assert "gone" not in inventory.installed()
    assert "gone" not in command_lines.commands(Placement(), machines.read("2x4x2"))
    with pytest.raises(BadInput, match="The launcher lost can't be used, because not_there can't be imported"):
        common.site_from(Placement(ranks=2), lost=True)


@pytest.mark.real
def test_a_session_runs_on_them(workshop_home: Path) -> None:
    assert "--shelf" in workshop("session", "start", "--help").stdout
    assert answer("mpi", "list")["thin"]["version"] == "0.1"
    assert workshop("run", "allreduce", "--mpi", "lam").stderr.strip().endswith("openmpi, mpich, intelmpi or thin.")
    started = answer("session", "start", "boxed", "--ranks", "2", "--mpi", "slim", "--box", "--shelf", "3")
    try:
        assert started["placement"]["mpi"] == "thin"
        assert Store.open().session("boxed").site == {"kind": "box", "shelf": "3"}
        run = answer("run", "allreduce", "--session", "boxed", "--largest", "1024")
        assert (run["status"], run["placement"]["mpi"]) == ("completed", "thin")
        gone = subprocess.run(
            [sys.executable, "-c", MAIN, "runs", "show", str(run["id"])], capture_output=True, text=True
        )
        assert gone.returncode == 0 and "thin" in gone.stdout, "the run outlives the package"
    finally:
        ended = workshop("session", "stop", "boxed")
    assert ended.returncode == 0, ended.stderr
