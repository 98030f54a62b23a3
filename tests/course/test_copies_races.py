"""Nothing is lost, and nothing is written elsewhere, while somebody else changes the folder in the same moment."""

from __future__ import annotations

import os
import re
import threading
import time
from pathlib import Path

import pytest

from tests.course.desk import AS_ROOT, EVE, NAME, Desk
from tests.support import limit
from workshop.core.errors import BadInput
from workshop.course import copies
from workshop.course.copies import LEDGER, copy_again
from workshop.course.learner_folder import Folder, opened


@pytest.mark.parametrize("looks", range(1, 5))
@pytest.mark.parametrize("linked", [True, False], ids=["links", "one name only"])
def test_what_is_saved_between_a_look_and_the_update_is_kept(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, looks: int, linked: bool
) -> None:
    """JupyterLab saves in place: right after the copy was looked at for the first time, the second and so on."""
    desk.hand_out()
    desk.publish("second")
    seen, look = 0, copies._hash

    def saved_behind(folder: Folder, file: str) -> str | None:
        nonlocal seen
        found = look(folder, file)
        seen += 1
        if seen == looks:
            desk.write("mine")
        return found

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(copies, "_hash", saved_behind)
    if not linked:
        monkeypatch.setattr(os, "link", refused)
    desk.hand_out()
    assert "mine" in desk.files.values() or seen < looks
    assert "second" in desk.files.values() or desk.read() == "mine"


def test_what_is_saved_at_any_moment_of_an_update_is_kept(desk: Desk) -> None:
    for number in range(150):
        for path in desk.mine.glob("*") if desk.mine.exists() else ():
            path.unlink()
        (desk.mine / LEDGER).unlink(missing_ok=True)
        desk.publish("first")
        desk.hand_out()
        desk.publish("second")
        save = threading.Timer(number * 1e-5, desk.write, ("mine",))
        save.start()
        desk.hand_out()
        save.join()
        assert "mine" in desk.files.values(), number


def test_a_copy_that_somebody_has_open_for_writing_is_theirs(desk: Desk) -> None:
    """JupyterLab has opened it, and a busy disk lets it write only later."""
    desk.hand_out()
    desk.publish("second")
    with open(desk.mine / NAME, "r+") as saving:
        assert desk.hand_out() == "beside"
        saving.write("mine!")
    assert desk.files == {NAME: "mine!", "1-small (new version).ipynb": "second"}


def test_two_at_once_take_turns(desk: Desk) -> None:
    desk.hand_out()
    busy = pytest.raises(BadInput, match=r"Another process has had .*mine for 0.1 s")
    with opened(desk.mine) as folder, folder.alone(), opened(desk.mine) as other, busy, other.alone(0.1):
        pass
    desk.hand_out()


@AS_ROOT
def test_root_is_led_nowhere_by_links(desk: Desk, tmp_path: Path) -> None:
    """A learner who puts links into the path of the folder, while it is given anew."""
    class_, roots = tmp_path / "class", tmp_path / "roots" / "notebooks"
    mine = class_ / "eve" / "notebooks"
    for folder in (mine, roots):
        folder.mkdir(parents=True)
    (roots / NAME).write_text("root's")
    for folder in (class_ / "eve", mine):
        os.chown(folder, EVE, EVE)
    over = threading.Event()

    def swap() -> None:
        while not over.wait(0.0005):
            (class_ / "eve").rename(class_ / "aside")
            (class_ / "eve").symlink_to(tmp_path / "roots")
            time.sleep(0.0005)
            (class_ / "eve").unlink()
            (class_ / "aside").rename(class_ / "eve")

    # The last one is of a link that had become a folder before it was read.
    refusals = "is a link|No such file|Not a directory|Too many levels|Invalid argument"
    eve, done = threading.Thread(target=swap), 0
    eve.start()
    try:
        for number in range(200):
            desk.publish(f"version {number}")
            try:
                copy_again(desk.originals, mine, NAME, make=False)
                done += 1
            except BadInput as refused:
                assert re.search(refusals, str(refused)), refused
    finally:
        over.set()
        eve.join(limit(20))
    assert done, "some got through between two swaps"
    assert {path.name: path.stat().st_uid for path in roots.iterdir()} == {NAME: 0}
    assert (roots / NAME).read_text() == "root's"
    assert {path.stat().st_uid for path in mine.iterdir()} == {EVE}, "what root has made there is hers"
