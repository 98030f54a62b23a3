"""The page of studies, on a seeded store."""

from __future__ import annotations

import re
from html import unescape

import pytest
from streamlit.testing.v1 import AppTest

from tests.app.conftest import Open, figures
from tests.app.test_pages import labels, words
from tests.study import seed
from tests.study.cards import seed as grids
from tests.workloads.sgan.study import world as path
from workshop.store.records import SessionRecord
from workshop.store.store import Store


def plain(page: AppTest) -> str:
    """What a page says, without the signs that keep it from being Markdown."""
    return unescape(words(page)).replace("\\", "").replace("\N{NO-BREAK SPACE}", " ")


def tables(page: AppTest) -> str:
    return "\n".join(part.proto.body for part in page.get("html")).replace("\N{NO-BREAK SPACE}", " ")


def test_without_a_study_learners_read_who_prepares_it_and_go_on(open_page: Open, store: Store) -> None:
    page = open_page("studies", new="1")
    assert "has not prepared a study here yet" in plain(page) and not page.code and "Prepare it" not in labels(page)
    assert [link.proto.label for link in page.get("page_link")][-2:] == ["Read the labs", "Set up a run of your own"]


@pytest.mark.parametrize("role", ["learner", "instructor"])
@pytest.mark.parametrize(("ended", "state", "label"), [(0, "prepared", "Start it"), (2, "interrupted", "Resume it")])
def test_what_nobody_works_on_is_started_by_the_instructor(
    open_page: Open, store: Store, session: SessionRecord, role: str, ended: int, state: str, label: str
) -> None:
    study = seed.study(store, session, ended=ended)
    store.leave_study(study.id, "seed")
    seed.study(store, session)  # the newest
    page = open_page("studies", role, study=str(study.id))
    said = plain(page)
    assert state in said and f"{ended} of 9 runs" in said and f"{9 - ended} runs to go, about" in said
    assert "workshop study" not in said
    assert (label in labels(page)) == (role == "instructor") != ("The instructor starts its runs" in said)
    assert page.dataframe[0].value["State"].tolist() == ["completed", state]
    assert page.query_params["study"] == str(study.id)


def test_what_failed_can_be_run_again(open_page: Open, store: Store, session: SessionRecord) -> None:
    seed.study(store, session, failing=4)
    assert "Run what failed again" in labels(open_page("studies", "instructor"))
    assert "Run what failed again" not in labels(open_page("studies"))


def test_a_study_that_is_complete(open_page: Open, store: Store, session: SessionRecord) -> None:
    study = seed.study(store, session)
    page = open_page("studies", study=str(study.id))
    said = plain(page)
    assert "Strong scaling of mnist" in said and "9 of 9 runs" in said
    assert "Oversubscribed: 4 ranks on 2 cores" in said
    assert "ResNet-50, 2 GPUs (Jain 2022)" in said and "334.0 images/s on one V100" in said
    (listed,) = page.dataframe
    assert list(listed.value["State"]) == ["completed"]
    assert re.findall(r'href="(run.*?)"', tables(page)) == [f"run?run={number}" for number in range(1, 10)]
    assert ">5,200</td>" in tables(page)


def test_the_newest_is_shown_and_another_can_be_linked(open_page: Open, store: Store, session: SessionRecord) -> None:
    seed.study(store, session)
    seed.study(store, session, weak=True)
    page = open_page("studies")
    assert "Weak scaling" in plain(page) and page.query_params["study"] == "2", "the address is a link to it"
    assert "Strong scaling" in plain(open_page("studies", study="1"))


def test_a_study_that_goes_on(open_page: Open, store: Store, session: SessionRecord) -> None:
    seed.study(store, session, ended=4)
    said = plain(open_page("studies"))
    assert "goes on" in said and "4 of 9 runs" in said


def test_a_study_that_waits_says_for_whom(open_page: Open, store: Store, session: SessionRecord) -> None:
    study = seed.study(store, session, ended=4)
    trial = store.trials(study.id)[4]
    store.submit(session.id, "mnist", trial.params, trial.placement, measured=True, trial=(study.id, 5))
    store.update_session(session.id, state="ready", message="Run 5 waits for process 7 (benchmarks kmeans)")
    store.heartbeat(session.id)
    assert "Run 5 waits for process 7 (benchmarks kmeans)" in plain(open_page("studies"))


def test_what_failed_is_shown_as_such(open_page: Open, store: Store, session: SessionRecord) -> None:
    seed.study(store, session, failing=4)
    page = open_page("studies")
    assert "1 cell failed; 4 ranks: ValueError: no <b>luck</b>" in plain(page)
    assert tables(page).count(">failed</td>") == 3
    assert "no &lt;b&gt;luck&lt;/b&gt;" in tables(page) and "<b>luck" not in tables(page)


def test_a_study_without_a_single_run(open_page: Open, store: Store, session: SessionRecord) -> None:
    seed.study(store, session, ended=0)
    assert "Nothing was measured yet" in plain(open_page("studies"))


@pytest.mark.parametrize("given", ["999", "x", "", pytest.param("9" * 5000, id="long")])
def test_a_study_that_is_not_there(open_page: Open, store: Store, session: SessionRecord, given: str) -> None:
    seed.study(store, session)
    assert "There is no study" in plain(open_page("studies", study=given))


def test_a_grid_with_its_best_cell_and_a_download(open_page: Open, store: Store, session: SessionRecord) -> None:
    rates = {(1, 1): 500.0, (1, 2): 900.0, (2, 1): grids.PRUNED, (2, 2): grids.FAILED}
    axes = {"ranks": [1, 2], "threads": [1, 2]}
    grids.grid(store, session, axes, lambda p: rates[p["ranks"], p["threads"]], title="<b>bold</b>")
    page = open_page("studies")
    assert "<b\\>bold" in words(page) and "<b>bold" not in words(page), "its title is words"
    assert page.code[0].value == "workshop run mnist --batch 32 --ranks 1 --threads 2"
    assert "Click at a mark" in plain(page)
    assert "pruned at 40" in tables(page)
    assert len(page.get("download_button")) == 2


def test_a_kind_that_nobody_knows_is_shown_with_its_runs(open_page: Open, store: Store, session: SessionRecord) -> None:
    grids.grid(store, session, {"ranks": [1, 2]}, lambda _: 500.0, kind="<i>newer</i>")
    page = open_page("studies")
    assert "can't interpret this study" in plain(page)
    assert "run?run=2" in tables(page)
    assert "<i>" not in words(page)


def test_a_grid_that_goes_on(open_page: Open, store: Store, session: SessionRecord) -> None:
    grids.grid(store, session, {"ranks": [1, 2], "threads": [1, 2]}, lambda _: 500.0, ended=3)
    said = plain(open_page("studies"))
    assert "goes on" in said and "3 of 4 runs · nearly done" in said


def test_each_kind_has_its_page_and_all_stand_together(open_page: Open, store: Store, session: SessionRecord) -> None:
    seed.study(store, session)
    guided = path.study(store, session, steps="ab")
    row = ["All", "Tuning", "Nodes", "Processor", "Three ways to learn"]
    listed = {"studies": [2, 1], "tuning": [2]}
    for name, ids in listed.items():
        page = open_page(name)
        links = [link.proto.label for link in page.get("page_link")]
        assert links[links.index("All") :][: len(row)] == row
        assert page.dataframe[0].value["Study"].tolist() == ids
    page = open_page("studies", study=str(guided.id))
    assert "stays hidden until you have guessed" in plain(page) and not figures(page), "its own view shows it"
    assert "has not prepared a study here yet" in plain(open_page("nodes"))
