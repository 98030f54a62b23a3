"""`workshop labs progress` and `workshop labs reset`, with notebooks of the real course in folders of learners."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from tests import classroom
from workshop.cli.main import run
from workshop.core import config
from workshop.core.errors import BadInput
from workshop.course import class_progress, copies
from workshop.course import learner as of_this_machine
from workshop.course.class_progress import outlines
from workshop.store.sessions import RecordingOrigin, mark
from workshop.store.store import Store

FIRST, KMEANS = "0-first.ipynb", "1-kmeans.ipynb"


@pytest.fixture
def originals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A notebook for each lab of the course, without what their texts link to."""
    folder = tmp_path / "originals"
    folder.mkdir()
    for name in class_progress._notebooks(None):
        (folder / name).write_text(json.dumps({"cells": [], "metadata": {"lab": name}, "nbformat": 4}))
    monkeypatch.setattr(config, "notebooks_folder", lambda: folder)
    monkeypatch.delenv("WORKSHOP_CLASS_NOTEBOOKS", raising=False)
    monkeypatch.setenv("WORKSHOP_LEARNER", "ada")
    monkeypatch.setenv("WORKSHOP_NOTEBOOKS", str(tmp_path / "mine"))
    return folder


@pytest.fixture
def mine(originals: Path, store: Store) -> Path:
    """Ada's copies, two of which she has written in; and what is known of her, and of Bob, who is elsewhere."""
    copies.hand_out(originals, config.learners_folder())
    for name in (FIRST, KMEANS):
        (config.learners_folder() / name).write_text(f"my {name}")
    for learner in ("ada", "bob"):
        classroom.keep(
            store, classroom.opened(learner, "first"), classroom.wrong(learner, "first", "mine", 4, said="Look.")
        )
        classroom.keep(store, classroom.right(learner, "kmeans", "shard"))
    return config.learners_folder()


def test_nobody_has_begun(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["labs", "progress"]) == 0
    assert capsys.readouterr().out == "Nobody has opened a lab's notebook yet.\n"
    assert run(["labs", "progress", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["learners"] == [] and told["labs"][0]["name"] == "first"
    assert run(["labs", "progress", "--learner", "nobody"]) == 2
    assert "Nothing is known of a learner 'nobody'" in capsys.readouterr().err
    assert run(["labs", "reset", "nobody"]) == 2
    assert "nobody has begun a lab yet" in capsys.readouterr().err


def test_the_class_is_told(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    names = classroom.fill(store, 12)
    store.keep_opened("Eve \x1b[31m", "first")
    assert run(["labs", "progress"]) == 0
    told = capsys.readouterr().out
    assert all(name in told for name in names) and "\x1b" not in told
    assert " is stuck. " in told and "Last hint: " in told
    assert run(["labs", "progress", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in document["learners"]][-1] == "only-quizzes"
    assert document["learners"][0]["stuck"]["words"]
    first = document["learners"][0]["labs"][0]
    assert {"lab", "solved", "finished", "minutes", "exercises", "predictions", "quizzes"} <= set(first)


def test_grades_are_written_for_a_gradebook(
    mine: Path, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    classroom.quiz(store, "first", {"only-quizzes": 3}, questions=4)
    assert run(["labs", "progress", "--gradebook", "csv"]) == 0
    assert capsys.readouterr().out == "labs.grades-csv.csv\n"
    head, *rows = Path("labs.grades-csv.csv").read_text(encoding="utf-8-sig").splitlines()
    most = sum(len(lab.exercises) for lab in outlines()[0])
    assert (head, rows) == ("learner,score,maximum", [f"ada,1,{most}", f"bob,1,{most}"])
    assert run(["labs", "progress", "--gradebook", "csv"]) == 2, "nothing is written over"


def test_one_lab_begins_anew_and_what_was_written_is_kept(
    mine: Path, originals: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, kept in enumerate(("0-first (set aside).ipynb", "0-first (set aside 2).ipynb")):
        assert run(["labs", "reset", "ada", "first", "--yes", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["set_aside"] == [kept] and told["folder"] == str(mine)
        assert told["forgotten"] == (2 if number == 0 else 0)
        assert (mine / kept).read_text() == (f"my {FIRST}" if number == 0 else "my second try")
        assert (mine / FIRST).read_bytes() == (originals / FIRST).read_bytes()
        (mine / FIRST).write_text("my second try")
    assert (mine / KMEANS).read_text() == f"my {KMEANS}"
    assert {(row.learner, row.lab) for row in store.progress()} == {
        ("ada", "kmeans"),
        ("bob", "first"),
        ("bob", "kmeans"),
    }


def test_a_labs_own_files_begin_anew_with_its_notebook(
    mine: Path, originals: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    own, others = "labs/first/pi.py", "labs/kmeans/kmeans.py"
    text = f"[one]({own}), and [another one]({others}) of the next lab"
    cells = [{"cell_type": "markdown", "metadata": {}, "source": text}]
    (originals / FIRST).write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    copies.hand_out(originals, mine)
    for name in (own, others):
        (mine / name).write_text("my script")
    assert run(["labs", "reset", "ada", "first"]) == 2
    assert f"Copied again into {mine}: {FIRST} and {own}." in capsys.readouterr().err
    assert run(["labs", "reset", "ada", "first", "--yes", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["given_anew"] == [FIRST, own]
    assert told["set_aside"] == ["0-first (set aside).ipynb", "labs/first/pi (set aside).py"]
    assert (mine / "labs/first/pi (set aside).py").read_text() == "my script"
    assert (mine / own).read_bytes() == (config.labs_folder() / "first" / "pi.py").read_bytes()
    assert (mine / others).read_text() == "my script", "another lab's"


def test_a_recording_is_looked_at_as_of_its_time(mine: Path, store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """Who was stuck when it was made is so for ever, and nobody begins anew in it."""
    at = time.time() + 30 * 86400
    classroom.keep(store, classroom.wrong("Zoë", "first", "mine", 3, ago=60 - 30 * 86400))
    with store.database.writing() as connection:
        mark(connection, RecordingOrigin(at, "a laptop"))
    assert run(["labs", "progress", "--json"]) == 0
    learners = json.loads(capsys.readouterr().out)["learners"]
    assert [one["name"] for one in learners if one["stuck"]] == ["Zoë"]
    before = store.progress()
    assert run(["labs", "reset", "ada", "--yes"]) == 2
    assert "Recorded on" in capsys.readouterr().err
    assert store.progress() == before and (mine / FIRST).read_text() == f"my {FIRST}"


def test_a_class_has_a_folder_for_everybody(
    originals: Path, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "class"
    monkeypatch.setenv("WORKSHOP_CLASS_NOTEBOOKS", f"{root}/{{learner}}/notebooks")
    folder = root / "bob" / "notebooks"
    folder.mkdir(parents=True)
    (folder / FIRST).write_text("Bob's")
    owner = 12345 if os.geteuid() == 0 else os.getuid()
    if os.geteuid() == 0:
        os.chown(folder, owner, owner)
    store.keep_opened("bob", "first")
    done = class_progress.reset(store, "bob", "first")
    assert done.aside == ("0-first (set aside).ipynb",) and done.things == 1
    assert (folder / done.aside[0]).read_text() == "Bob's"
    assert (folder / FIRST).read_bytes() == (originals / FIRST).read_bytes()
    assert (folder / FIRST).stat().st_uid == owner, "Bob has to be able to write in it"


def test_a_nickname_that_is_short_for_a_longer_name_finds_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKSHOP_CLASS_NOTEBOOKS", f"{tmp_path}/of-{{learner}}.d/notebooks")
    names = [f"anna-sophie.von-und-zu-hohenberg-{number}" for number in (1, 2)]
    for name in names:
        (tmp_path / f"of-{name}.d" / "notebooks").mkdir(parents=True)
    for name in names:
        short = of_this_machine.nickname(name)
        assert len(short) < len(name)
        assert class_progress.folder_of(short) == tmp_path / f"of-{name}.d" / "notebooks"
    assert class_progress.folder_of(of_this_machine.nickname(f"{names[0]}0")) is None


def test_a_folder_that_refuses_keeps_the_progress(
    mine: Path, store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(copies, "_write", refused)  # as a server of files may, also root
    assert run(["labs", "reset", "ada", "first", "--yes"]) == 2
    told = capsys.readouterr().err
    assert "The notebooks can't be copied" in told and told.count("\n") == 1
    assert "Operation not permitted); nothing that is known of ada is taken back." in told
    assert len(store.progress("ada", "first")) == 2
    assert (mine / "0-first (set aside).ipynb").read_text() == f"my {FIRST}"


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "../bob", "a\0b", "n" * 300, "nobody"])
def test_names_that_are_no_folder_lead_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("WORKSHOP_CLASS_NOTEBOOKS", f"{tmp_path}/{{learner}}/notebooks")
    (tmp_path / "bob" / "notebooks").mkdir(parents=True)
    (tmp_path / "notebooks").mkdir()
    assert config.class_notebooks(name) is None
    assert config.class_notebooks("bob") == tmp_path / "bob" / "notebooks"


@pytest.mark.parametrize("given", ["/srv/class", "class/{learner}", "/srv/{learner}/{learner}"])
def test_a_class_folder_names_the_learner_once(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("WORKSHOP_CLASS_NOTEBOOKS", given)
    with pytest.raises(BadInput, match="WORKSHOP_CLASS_NOTEBOOKS"):
        config.class_notebooks("ada")
