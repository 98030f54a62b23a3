"""The page of studies, on a seeded store."""

from __future__ import annotations

import pytest

from tests.app.conftest import Open
from tests.app.test_pages import words
from tests.study import seed
from workshop.store.records import SessionRecord
from workshop.store.store import Store


def plain(page: object) -> str:
    """What a page says, without the signs that keep it from being Markdown."""
    return words(page).replace("\\", "")


@pytest.mark.parametrize("role", ["learner", "instructor"])
def test_without_a_study_it_says_how_to_run_one(open_page: Open, role: str) -> None:
    page = open_page("studies", role)
    assert "No study yet" in plain(page)
    assert page.code[0].value == "workshop study run scaling --workload mnist --ranks 1,2,4"


def test_a_study_that_is_complete(open_page: Open, store: Store, session: SessionRecord) -> None:
    study = seed.study(store, session)
    page = open_page("studies", study=str(study.id))
    said = plain(page)
    assert "Strong scaling of mnist" in said and "9 of 9 runs" in said
    assert "Oversubscribed: 4 ranks on 2 cores" in said
    assert "ResNet-50, 2 GPUs (Jain 2022)" in said and "334.0 images/s on one V100" in said
    listed, runs = page.dataframe
    assert list(listed.value["State"]) == ["completed"]
    assert list(runs.value["Run"]) == [f"/run?run={number}" for number in range(1, 10)]
    assert list(runs.value["Images/s"])[:3] == ["5\u202f200", "9\u202f900", "8\u202f200"]


def test_the_newest_is_shown_and_another_can_be_linked(open_page: Open, store: Store, session: SessionRecord) -> None:
    seed.study(store, session)
    seed.study(store, session, weak=True)
    assert "Weak scaling" in plain(open_page("studies"))
    assert "Strong scaling" in plain(open_page("studies", study="1"))


def test_a_study_that_goes_on(open_page: Open, store: Store, session: SessionRecord) -> None:
    seed.study(store, session, ended=4)
    said = plain(open_page("studies"))
    assert "goes on" in said and "4 of 9 runs" in said


def test_a_study_that_was_interrupted(open_page: Open, store: Store, session: SessionRecord) -> None:
    study = seed.study(store, session, ended=2)
    store.leave_study(study.id, "seed")
    said = plain(open_page("studies"))
    assert "interrupted" in said and f"workshop study resume {study.id}" in said


def test_what_failed_is_shown_as_such(open_page: Open, store: Store, session: SessionRecord) -> None:
    seed.study(store, session, failing=4)
    page = open_page("studies")
    assert "All trials with 4 ranks failed: ValueError: no <b>luck</b>" in plain(page)
    runs = page.dataframe[1].value
    assert list(runs["Status"]).count("failed") == 3
    assert "no <b>luck</b>" in list(runs["Why not"])[2]


def test_a_study_without_a_single_run(open_page: Open, store: Store, session: SessionRecord) -> None:
    seed.study(store, session, ended=0)
    assert "Not enough measured yet" in plain(open_page("studies"))


@pytest.mark.parametrize("given", ["999", "x", "-1", "1e9", "<b>", ""])
def test_a_study_that_is_not_there(open_page: Open, store: Store, session: SessionRecord, given: str) -> None:
    seed.study(store, session)
    assert "There is no study" in plain(open_page("studies", study=given))
