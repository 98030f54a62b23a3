"""The page of the guided study of one processor: before it is prepared, and each of its steps."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.app.conftest import Open
from tests.app.test_pages import labels
from tests.app.test_studies import plain
from tests.app.test_tuning import click
from tests.web import seed
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.study import runner
from workshop.study.guided.plan import plan
from workshop.workloads.processor.study.facts import GUIDE


@pytest.fixture
def session(store: Store) -> Iterator[SessionRecord]:
    """One whose conductor seems to live for as long as the test."""
    with seed.alive(store, "class") as made:
        yield made


def test_the_instructor_prepares_it(open_page: Open, store: Store, session: SessionRecord) -> None:
    assert "has not prepared a study here yet" in plain(open_page("processor"))
    click(open_page("processor", "instructor"), "Prepare it")
    (study,) = store.studies()
    assert (study.kind, study.workload) == (GUIDE.kind, GUIDE.workload)


def test_every_step_asks_before_it_is_run(open_page: Open, store: Store, session: SessionRecord) -> None:
    study = runner.begin(store, plan(GUIDE, {}, 2, steps=""))
    for step in GUIDE.steps:
        page = open_page("processor", "instructor", study=str(study.id), step=step.key)
        assert step.title in plain(page) and "Run this step" in labels(page)
        asked = [field.label for field in (*page.number_input, *page.radio)]
        assert any(label.startswith(step.question) for label in asked)
        assert "What comes out stays hidden until you have guessed" in plain(page)
