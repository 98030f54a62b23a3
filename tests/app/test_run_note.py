"""Notes on a run are written on its page, by those who may."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import TextArea

from tests.app.conftest import Open
from tests.web import seed
from workshop.store.records import SessionRecord
from workshop.store.store import Store


def notes(page: AppTest) -> list[TextArea]:
    return [area for area in page.text_area if area.label.startswith("Note")]


def test_a_note_is_written_on_the_run_s_page(open_page: Open, store: Store, session: SessionRecord) -> None:
    run = seed.completed(store, session)
    assert not notes(open_page("run", "learner", run=str(run.id))), "it is not the learner's run"
    page = open_page("run", "instructor", run=str(run.id))
    notes(page)[0].set_value("Compare it with one rank.")
    next(button for button in page.button if button.label == "Save the note").click().run()
    assert [success.value for success in page.success] == ["The note is saved."]
    again = open_page("run", "instructor", run=str(run.id))
    assert notes(again)[0].value == "Compare it with one rank."
