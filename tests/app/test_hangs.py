"""The page Hangs: a program is read, its hang is predicted, and it is run."""

from __future__ import annotations

import pytest

from tests.app.conftest import Open
from tests.app.test_studies import plain
from workshop.report.failures import failures_of
from workshop.store.records import SessionRecord
from workshop.store.store import Store

FAILURE = next(each for each in failures_of("hang") if each.params["example"] == "rows-and-columns")


@pytest.mark.real
def test_a_hang_is_predicted_then_run(open_page: Open, store: Store, session: SessionRecord) -> None:
    page = open_page("hangs")
    assert len(page.selectbox[-1].options) == len(failures_of("hang"))
    page.selectbox[-1].set_value(FAILURE.title).run()
    prediction = FAILURE.prediction
    assert prediction and prediction.program.strip() in [code.value for code in page.code]
    assert list(page.radio[0].options) == list(prediction.options) and prediction.explanation not in plain(page)
    page.radio[0].set_value(prediction.answer)
    page.button(key=f"failure/{FAILURE.name}-keep").click().run()
    page.button(key=f"{FAILURE.name}-broken").click().run()
    assert not page.exception
    (run,) = store.runs()
    assert (run.workload, run.params["example"]) == ("hang", "rows-and-columns")
    assert prediction.explanation not in plain(page), "the run has not ended"
    store.take_next(session.id)
    store.finish(run.id, "completed", metrics={"kind": "other-communicator", "ranks": [0, 1, 2, 3]})
    page.run()
    words = plain(page).replace("*", "")
    assert prediction.explanation in words and f"The right answer is: {prediction.answer}" in words


def test_the_command_gives_no_answer_away(open_page: Open, store: Store, session: SessionRecord) -> None:
    page = open_page("hangs", "instructor")
    page.selectbox[-1].set_value(FAILURE.title).run()
    shown = " ".join([*(code.value for code in page.code), *(caption.value for caption in page.caption)])
    assert "rows-and-columns" not in shown and "workshop run hang" not in shown
    page.button(key=f"{FAILURE.name}-broken").click().run()
    store.take_next(session.id)
    store.finish(store.runs()[0].id, "completed", metrics={"kind": "other-communicator", "ranks": [0, 1, 2, 3]})
    page.run()
    assert any("workshop run hang" in code.value for code in page.code)
