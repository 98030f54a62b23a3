"""The form of a new study: every kind says what it needs, and the page shows the price first."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.app.conftest import Open
from tests.app.test_pages import labels
from tests.app.test_studies import plain
from tests.app.test_tuning import click
from workshop import registry
from workshop.store.records import SessionRecord
from workshop.store.store import Store


def put(page: AppTest, key: str, value: object) -> AppTest:
    page.session_state[key] = value
    page.run()
    assert not page.exception, page.exception
    return page


KIND = f"study-kind-{len(registry.studies())}"
KINDS = {
    "scaling": ("mnist", "6 runs", "ranks", [1, 2]),
    "grid": ("mnist", "6 runs", "axes", {"ranks": [1, 2]}),
    "tune": ("sgan", "runs", "budget", 300.0),
    "ways": ("federated", "15 runs", "repeats", 5),
    "path": ("sgan", "runs", "steps", list("abcdefghi")),
}


# The tuner asks an MPI where ranks would run.
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.real] if kind == "tune" else []) for kind in KINDS]
)
def test_every_kind_is_prepared_with_its_price_beforehand(
    open_page: Open, store: Store, session: SessionRecord, kind: str
) -> None:
    workload, runs, setting, value = KINDS[kind]
    page = put(open_page("studies", "instructor"), KIND, kind)
    page = put(page, f"study-{kind}-workload", workload)
    assert f"{runs}**, about" in plain(page) and "in all" in plain(page)
    click(page, "Prepare it")
    (study,) = store.studies()
    assert (study.kind, study.workload, study.state, study.submitted_by) == (kind, workload, "prepared", "Instructor")
    assert study.description[setting] == value
    assert page.query_params["study"] == str(study.id) and "prepared" in plain(page)
    assert "Start it" in labels(page)


def test_what_is_changed_is_kept_and_the_same_study_is_not_kept_twice(
    open_page: Open, store: Store, session: SessionRecord
) -> None:
    for _ in range(2):
        page = put(open_page("studies", "instructor", new="1"), KIND, "scaling")
        page = put(put(page, "study-scaling-workload", "mnist"), "study-scaling-weak", True)
        page = put(put(page, "study-scaling-ranks", "1,2,4"), "study-scaling-repeats", 1)
        page = put(page, "study-scaling-mnist-[]-batch", 64)
        assert "3 runs**" in plain(page)
        click(page, "Prepare it")
    (study,) = store.studies()
    settings = study.description
    assert (settings["ranks"], settings["weak"], settings["params"]["batch"]) == ([1, 2, 4], True, 64)


def test_a_grid_varies_settings_of_its_workload_too(open_page: Open, store: Store, session: SessionRecord) -> None:
    page = put(open_page("studies", "instructor"), KIND, "grid")
    page = put(page, "study-grid-vary", "ranks=1,2\nbatch=32,64")
    assert "8 runs**" in plain(page), "four cells, and two of them twice more"
    click(put(page, "study-grid-repeats", 3), "Prepare it")
    (study,) = store.studies()
    assert study.description["axes"] == {"ranks": [1, 2], "batch": [32, 64]} and study.description["repeats"] == 3


@pytest.mark.parametrize(
    ("kind", "name", "value", "why"),
    [
        ("scaling", "ranks", "1,x", "ranks is 'x'"),
        ("grid", "vary", "nonsense=1", "is nothing that a study of"),
        ("grid", "vary", "ranks", "should be like NAME=value"),
        ("tune", "budget", "soon", "is no time"),
        ("path", "steps", "z", "the steps are a to i"),
    ],
)
def test_what_can_t_be_planned_is_a_sentence(
    open_page: Open, store: Store, session: SessionRecord, kind: str, name: str, value: str, why: str
) -> None:
    page = put(open_page("studies", "instructor"), KIND, kind)
    page = put(page, f"study-{kind}-{name}", value)
    assert why in plain(page) and "Prepare it" not in labels(page)


def test_without_a_session_a_study_is_prepared_but_not_started(open_page: Open, store: Store) -> None:
    page = open_page("studies", "instructor")
    start = next(button for button in page.button if button.label == "Start it")
    assert start.disabled and "Session" in plain(page)
    click(page, "Prepare it")
    assert "prepared" in plain(page) and "Start it" not in labels(page)
