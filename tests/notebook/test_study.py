"""Studies from a notebook."""

from __future__ import annotations

import re

import pytest

from tests.notebook.kernel import Kernel
from tests.notebook.sessions import PLOTLY, displays, meanwhile, press_stop, process_of, shown
from tests.support import until
from workshop.core.errors import BadInput
from workshop.notebook.session import Session
from workshop.notebook.studies import StudyShown
from workshop.store.records import SessionRecord
from workshop.store.store import Store

WORK = "data='blobs', points=2000, clusters=3, iterations=3, threads=1, repeats=1, backend='numpy'"


def test_a_study_that_was_stopped_goes_on_and_shows_itself(class_notebook: Kernel, class_store: Store) -> None:
    pid = process_of(class_notebook)
    asked = f"study = session.study('scaling', workload='kmeans', ranks=[1, 2], {WORK})"
    with meanwhile(class_notebook, f"{asked}\nprint('went on')") as said:
        # Its first run is a short one, which may have ended before anybody looks.
        until(lambda: any(run.status != "queued" for run in class_store.runs()), 60, "the study's first run")
        press_stop(pid)
    assert re.fullmatch(
        r".*Study 1 was stopped with [01] of 2 runs done; the same call goes on with it\.\n?", said[0], re.DOTALL
    )
    assert "went on" not in said[0]
    assert all(run.ended for run in class_store.runs())

    before = len(class_notebook.sent)
    class_notebook.run(f"{asked}\nstudy")
    assert [study.id for study in class_store.studies()] == [1]
    texts = shown(class_notebook, before)
    assert any(text.startswith("Study 1: ") and "of 2 runs done" in text for text in texts), texts
    (last,) = [text for text in texts if "Verdict: " in text]
    assert "completed, 2 of 2 runs" in last
    assert [one for one in displays(class_notebook, before) if PLOTLY in one]
    assert class_notebook.run("study.status, study.figures[0]") == "('completed', 'speed-up')"
    assert class_notebook.run("study.table.status.tolist()") == "['completed', 'completed']"
    assert all(run.measured for run in class_store.runs(study_id=1))


def test_a_grid_and_its_sessions_placement(class_session: SessionRecord, class_store: Store) -> None:
    held = Session(class_store, class_session)
    study = held.study("grid", "kmeans", vary={"clusters": [2, 3]}, repeats=3, **_work())
    assert isinstance(study, StudyShown)
    assert (study.status, study.record.done) == ("completed", 6)
    assert {run.params["clusters"] for run in class_store.runs(study_id=study.id)} == {2, 3}
    assert {run.placement["ranks"] for run in class_store.runs(study_id=study.id)} == {2}
    assert study.verdict["verdict"]
    assert "completed, 6 of 6 runs" in repr(study)


@pytest.mark.parametrize(
    ("kind", "names", "said"),
    [
        ("path", {}, "Path isn't run in a notebook; it is `workshop study run path`"),
        ("scaling", {}, "Of which workload?"),
        ("scaling", {"workload": "kmeans", "repeat": 2}, "repeat is not a setting of the study; did you mean repeats?"),
        ("scaling", {"workload": "kmeans", "minutes": 0}, "minutes is 0: it should be a number from 0.01 to 1440."),
        ("grid", {"workload": "kmeans"}, "A grid needs vary"),
        ("grid", {"workload": "kmeans", "vary": {"cluster": [1, 2]}}, "cluster"),
    ],
)
def test_what_can_t_be_is_one_sentence(
    class_session: SessionRecord, class_store: Store, kind: str, names: dict[str, object], said: str
) -> None:
    before = len(class_store.studies())
    with pytest.raises(BadInput) as raised:
        Session(class_store, class_session).study(kind, **names)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
    assert len(class_store.studies()) == before


def _work() -> dict[str, object]:
    return {"data": "blobs", "points": 2000, "iterations": 3, "threads": 1, "backend": "numpy"}
