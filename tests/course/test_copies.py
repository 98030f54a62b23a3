"""Learners have copies of their own, and nothing that they have written is ever lost."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.course.desk import AS_ROOT, EVE, NAME, Desk
from workshop.core.errors import BadInput
from workshop.course.copies import LEDGER, copy_again, hand_out


def notebook(text: str, outputs: tuple[str, ...] = (), **metadata: str) -> str:
    """A notebook of one cell, as it is written by whoever has these metadata."""
    printed = [{"output_type": "stream", "name": "stdout", "text": [line]} for line in outputs]
    cell = {
        "cell_type": "code",
        "id": "one",
        "metadata": {},
        "execution_count": None,
        "outputs": printed,
        "source": text,
    }
    return json.dumps({"cells": [cell], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=len(metadata))


def test_copy_that_was_merely_opened_is_updated(desk: Desk) -> None:
    """JupyterLab writes what it knows of the kernel into a notebook that somebody has only looked at."""
    desk.publish(notebook("1 + 1"))
    desk.hand_out()
    desk.write(notebook("1 + 1", kernelspec="python3", language="python"))
    assert desk.hand_out() == "same"
    desk.publish(notebook("1 + 2"))
    assert desk.hand_out() == "updated"
    desk.write(notebook("1 + 2", outputs=("3",)))
    desk.publish(notebook("1 + 3"))
    assert desk.hand_out() == "beside", "what was computed is somebody's work"


def test_a_picture_that_somebody_pasted_is_theirs(desk: Desk) -> None:
    desk.publish(notebook("![](attachment:mine.png)"))
    desk.hand_out()
    mine = json.loads(desk.read())
    mine["cells"][0]["attachments"] = {"mine.png": {"image/png": "AAAA"}}
    desk.write(json.dumps(mine))
    desk.publish(notebook("![](attachment:mine.png) and more"))
    assert desk.hand_out() == "beside"
    assert "AAAA" in desk.read()


def test_new_version_goes_beside_what_a_learner_has_changed(desk: Desk) -> None:
    desk.hand_out()
    desk.write("mine")
    desk.publish("second")
    assert [desk.hand_out(), desk.hand_out()] == ["beside", "kept"]
    assert desk.files == {NAME: "mine", "1-small (new version).ipynb": "second"}
    desk.publish("third")  # what lies beside hasn't been touched
    assert desk.hand_out() == "beside"
    assert desk.files == {NAME: "mine", "1-small (new version).ipynb": "third"}
    desk.write("worked on", "1-small (new version).ipynb")
    desk.publish("fourth")
    desk.hand_out()
    assert desk.files == {
        NAME: "mine",
        "1-small (new version).ipynb": "worked on",
        "1-small (new version 2).ipynb": "fourth",
    }


@pytest.mark.parametrize("ledger", ["", "[]", '{"1-small.ipynb": 3}', "\0"])
def test_damaged_ledger_overwrites_nothing(desk: Desk, ledger: str) -> None:
    desk.hand_out()
    desk.write("mine")
    desk.write(ledger, LEDGER)
    desk.publish("second")
    assert desk.hand_out() == "beside"
    assert desk.read() == "mine"


def test_given_anew(desk: Desk) -> None:
    desk.hand_out()
    desk.write("mine")
    assert copy_again(desk.originals, desk.mine, NAME).what == "given"
    assert desk.files == {NAME: "first", "1-small (set aside).ipynb": "mine"}
    copy_again(desk.originals, desk.mine, NAME)
    assert len(desk.files) == 2
    (desk.mine / NAME).unlink()
    assert desk.hand_out() == "given", "what was deleted comes back"


def test_refusals(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    for originals, mine in (
        (desk.originals, desk.originals),
        (desk.originals, desk.originals / "within"),
        (desk.originals, tmp_path / "file"),
        (tmp_path / "empty", desk.mine),
    ):
        with pytest.raises(BadInput):
            hand_out(originals, mine)
    for name in ("2-other.ipynb", f"../originals/{NAME}"):
        with pytest.raises(BadInput, match="There is no file"):
            copy_again(desk.originals, desk.mine, name)


def test_a_full_disk_is_told_in_a_sentence_and_tried_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.hand_out()
    desk.publish("second")

    def full(path: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(BadInput, match=r"mine \(No space left on device\)\.$"):
            desk.hand_out()
    assert desk.files == {NAME: "first"}
    assert desk.hand_out() == "updated"
    assert desk.files == {NAME: "second"}


@AS_ROOT
def test_what_root_makes_belongs_to_the_folder_s_owner(desk: Desk) -> None:
    desk.mine.mkdir()
    os.chown(desk.mine, EVE, EVE)
    desk.hand_out()
    assert {path.lstat().st_uid for path in desk.mine.iterdir()} == {EVE}


@pytest.mark.parametrize(("mask", "mode"), [(0o077, 0o600), (0o022, 0o644)])
def test_copies_are_as_private_as_their_owner_wants(desk: Desk, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        desk.hand_out()
        assert stat.S_IMODE((desk.mine / NAME).stat().st_mode) == mode
    finally:
        os.umask(before)


def test_files_that_notebooks_link_to_come_along(desk: Desk, tmp_path: Path) -> None:
    for name, text in (("add.py", "one"), ("checks.py", "secret"), ("other.py", "not linked to")):
        (tmp_path / "labs" / "small").mkdir(parents=True, exist_ok=True)
        (tmp_path / "labs" / "small" / name).write_text(text)
    text = "[a](labs/small/add.py) [b](labs/small/checks.py) [c](labs/small/none.py) [d](../labs/small/other.py)"
    desk.publish(json.dumps({"cells": [{"cell_type": "markdown", "source": [text]}]}))
    (desk.originals / "solutions").mkdir()
    (desk.originals / "solutions" / NAME).write_text("solved")

    def given() -> dict[str, str]:
        return {copied.name: copied.what for copied in hand_out(desk.originals, desk.mine, tmp_path / "labs")}

    assert given() == {NAME: "given", "labs/small/add.py": "given"}
    assert sorted(path.name for path in desk.mine.rglob("*") if path.is_file()) == [LEDGER, NAME, "add.py"]
    (desk.mine / "labs/small/add.py").write_text("mine")
    (tmp_path / "labs/small/add.py").write_text("two")
    assert given() == {NAME: "same", "labs/small/add.py": "beside"}
    assert (desk.mine / "labs/small/add.py").read_text() == "mine"
    assert (desk.mine / "labs/small/add (new version).py").read_text() == "two"
    anew = copy_again(desk.originals, desk.mine, "labs/small/add.py", tmp_path / "labs")
    assert (anew.what, anew.aside) == ("given", "add (set aside).py")
    assert (desk.mine / "labs/small/add (set aside).py").read_text() == "mine"


steps = st.lists(st.sampled_from(["publish", "write", "write beside", "hand out", "again"]), max_size=12)


@settings(deadline=None)  # disks are busy at times
@given(steps)
def test_what_a_learner_wrote_last_is_always_there(taken: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        desk.hand_out()
        written: set[str] = set()
        for number, step in enumerate(taken):
            if step == "publish":
                desk.publish(f"version {number}")
            elif step == "hand out":
                desk.hand_out()
            elif step == "again":
                copy_again(desk.originals, desk.mine, NAME)
            else:
                beside = [name for name in desk.files if "new version" in name]
                name = beside[-1] if step == "write beside" and beside else NAME
                written.discard(desk.read(name))  # overwritten by the learner
                desk.write(f"mine {number}", name)
                written.add(f"mine {number}")
            assert written <= set(desk.files.values())
            assert not any(path.name.endswith(".part") for path in desk.mine.iterdir())
