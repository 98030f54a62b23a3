"""The class's page: for the instructor only, and letting somebody begin anew after it was confirmed."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests import classroom
from tests.app.conftest import Open
from tests.app.test_pages import labels, words
from workshop.core import config
from workshop.store.store import Store
from workshop.web.auth import ADMISSION, let_in

NAME = "Zoë <b>bold</b> *a*"
YES = "Yes, let them begin anew"


def press(page: AppTest) -> AppTest:
    page = next(button for button in page.button if button.label == YES).click().run()
    assert not page.exception
    return page


def said(page: AppTest) -> str:
    return "\n".join(one.value for one in page.success).replace("\\", "")


def test_it_is_the_instructors(open_page: Open, store: Store) -> None:
    classroom.keep(store, classroom.opened(NAME, "first"))
    for query in ({}, {"learner": NAME}):
        page = open_page("progress", "learner", **query)
        assert NAME not in words(page).replace("\\", "") and "Class" not in [header.value for header in page.header]
        assert "Class" in [header.value for header in open_page("progress", "instructor", **query).header]


def test_somebody_begins_anew_in_one_lab_and_in_all(open_page: Open, store: Store) -> None:
    classroom.keep(
        store, *(classroom.opened(NAME, lab) for lab in ("first", "kmeans")), classroom.opened("bob", "first")
    )
    classroom.keep(store, classroom.wrong(NAME, "first", "mine", 3))
    page = open_page("progress", "instructor", learner=NAME)
    told = words(page).replace("\\", "")
    assert f"This deletes 3 records of {NAME}'s progress in all labs" in told
    assert "theirs are not on this machine" in told
    assert len(store.progress()) == 4, "nothing happens before it is confirmed"

    page.selectbox[0].select("first").run()
    page = press(page)
    assert said(page).startswith(f"{NAME} starts again in first.")
    assert [(row.learner, row.lab) for row in store.progress()] == [(NAME, "kmeans"), ("bob", "first")]
    page = press(page)
    assert said(page).startswith(f"{NAME} starts again in all labs.")
    assert [row.learner for row in store.progress()] == ["bob"]
    assert YES not in labels(page), "there is nothing left to take back"


def test_the_door_closes_and_a_learner_is_put_out(open_page: Open, store: Store) -> None:
    ada, _ = let_in(store, "learner", "Ada")
    page = open_page("progress", "instructor")
    page = page.toggle[0].set_value(False).run()
    assert store.setting(ADMISSION) == "closed"
    page = next(box for box in page.selectbox if box.label == "Learner").select(ada.id).run()
    page = next(one for one in page.button if one.label == "Cancel all runs of this learner").click().run()
    assert said(page) == "Ada: 0 runs cancelled."
    page = next(one for one in page.button if one.label == "Yes, put this learner out").click().run()
    assert said(page) == "Ada is out of the class."
    assert not page.exception


def test_what_cant_be_said_in_one_sentence(
    open_page: Open, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ada").mkdir()
    monkeypatch.setenv("WORKSHOP_CLASS_NOTEBOOKS", f"{tmp_path}/{{learner}}")
    monkeypatch.setattr(config, "notebooks_folder", lambda: tmp_path / "nowhere")
    store.keep_opened("ada", "first")
    page = open_page("progress", "instructor", learner="ada")
    assert "There are no notebooks in" in page.error[0].value.replace("\\", "")
    assert not [button for button in page.button if button.label == YES], "nobody can press what must fail"
    assert store.progress("ada"), "nothing is taken back where the notebook can't be given anew"
