"""Labs in the browser, and a learner's home: what to do next, what was done, what was predicted."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.app.conftest import Open
from tests.app.test_pages import labels, words
from workshop.core import config
from workshop.course import reading
from workshop.quiz import reader
from workshop.store.records import SessionRecord
from workshop.store.store import Store


def press(page: AppTest, label: str, number: int = 0) -> AppTest:
    page = [button for button in page.button if button.label == label][number].click().run()
    assert not page.exception
    return page


def test_the_course_and_its_labs(open_page: Open, store: Store) -> None:
    page = open_page("labs")
    assert "**1** Distributed k" in links_of(page) and "40 min" in words(page)
    assert "There is no lab nowhere" in words(open_page("labs", lab="nowhere")).replace("\\", "")
    page = open_page("labs", lab="kmeans")
    assert "Lab 1: Distributed k-means" in words(page)
    assert [row.lab for row in store.progress("Learner")] == ["kmeans"], "it counts as begun"
    page = press(page, "Next section")
    assert page.query_params["part"] in ("2", ["2"]) and "At the end you have written" in words(page)
    assert any(">2 of " in part.proto.body for part in page.get("html"))
    assert [heading.value for heading in page.subheader] == ["Goal"]
    page = open_page("labs", lab="kmeans", part="8")
    assert "**Exercise 1**" in links_of(page), "the contents mark the section"
    assert "workshop labs copy kmeans" in words(page) and "bincount" not in page.code[0].value


def headings(page: AppTest) -> list[str]:
    return [heading.value for heading in page.subheader]


def test_a_further_notebook_has_sections_and_runs_like_its_lab(
    open_page: Open, store: Store, session: SessionRecord
) -> None:
    title = "Fi and very large images"
    assert title in links_of(open_page("labs", lab="pipelines"))
    assert title not in links_of(open_page("labs", lab="ring"))
    page = open_page("labs", lab="pipelines", further="hybrid")
    assert headings(page) == ["About this notebook"]
    assert headings(press(page, "Next section")) == ["Names of the divisions"]
    press(open_page("labs", lab="pipelines", section="Two directions"), "Run this", 4)
    (run,) = store.runs(submitted_by="Learner")
    assert (run.workload, run.params["schedule"], run.placement["ranks"]) == ("parallel", "bidirectional", 4)
    last = open_page("labs", lab="pipelines", further="hybrid", part="99")
    assert "Lab 11: " in links_of(last) and "Lab 12: " not in links_of(last)
    assert headings(open_page("labs", lab="ring", further="hybrid")) == ["About this lab"]


def test_questions_on_a_further_notebook_lead_to_its_section(open_page: Open) -> None:
    for lab in ("pipelines", "ring", "first"):
        folder = config.labs_folder() / lab
        own = {section.title.partition(". ")[2] for section in reading.read(folder)}
        questions = reader.read(folder / reader.FILE).questions
        elsewhere = {question.section for question in questions if question.section} - own
        assert elsewhere
        for section in elsewhere:
            assert headings(open_page("labs", lab=lab, section=section)) == [section]
    page = open_page("labs", lab="pipelines", section="Two directions")
    assert headings(press(page, "Next section")) == ["Whole slide images and tiles"]
    assert headings(open_page("labs", lab="ring", section="Words")) == ["Words"]
    assert headings(open_page("labs", lab="ring", section="No such section")) == ["About this lab"]


def test_the_glossary_finds_a_term(open_page: Open, store: Store) -> None:
    page = open_page("labs", show="glossary")
    assert "Straggler" in words(page) and "Silo" in words(page)
    page.text_input[0].set_value("straggl").run()
    assert "Straggler" in words(page) and "Silo" not in words(page)
    page.text_input[0].set_value("no such term").run()
    assert "No lab explains" in page.info[0].value


def test_the_dictionary_puts_frameworks_side_by_side(open_page: Open) -> None:
    page = open_page("labs", show="dictionary")
    code = " ".join(block.value for block in page.code)
    assert "hvd.init()" in code and "DistributedDataParallel(model)" in code and "mpirun_rsh -np 4" in code
    assert "engine.step()" not in code


@pytest.mark.parametrize("part", ["0", "999", "x", "-1", "1" * 9])
def test_an_address_with_a_part_that_there_is_not(open_page: Open, part: str) -> None:
    page = open_page("labs", lab="kmeans", part=part)
    assert next(heading.value for heading in page.subheader) in ("About this lab", "What to take home")


def test_a_guess_and_runs_without_a_notebook(open_page: Open, store: Store, session: SessionRecord) -> None:
    page = open_page("labs", lab="kmeans", part="4")
    question = "How many times as many pixels per second do two ranks read? [times]"
    assert page.number_input[0].label == question
    page.number_input[0].set_value(1.8).run()
    assert [row.value for row in store.progress("Learner", "kmeans") if row.kind == "prediction"] == [{"guess": 1.8}]
    assert open_page("labs", lab="kmeans", part="4").number_input[0].value == 1.8

    page = open_page("labs", lab="kmeans", part="5")
    page = press(page, "Run this")
    page = press(page, "Run this", 1)
    two, alone = store.runs(submitted_by="Learner")
    assert (alone.placement["ranks"], two.placement["ranks"]) == (1, 2) and two.params["clusters"] == 16
    assert "Compare the two" in str([link.proto.label for link in page.get("page_link")])


def test_a_run_of_a_lab_says_how_it_stands_until_its_verdict(
    open_page: Open, store: Store, session: SessionRecord
) -> None:
    page = press(open_page("labs", lab="kmeans", part="5"), "Run this")
    (run,) = store.runs()
    assert "Number 1 in the queue" in words(page) and "queued" in links_of(page)
    assert store.take_next(session.id) is not None
    store.set_run(run.id, progress=(7.0, 20.0), activity={"words": "computing"})
    page = page.run()
    assert "Computing" in words(page) and "running" in links_of(page)
    assert [bar.proto.value for bar in page.get("progress")] == [35]
    store.finish(run.id, "completed", metrics={}, verdict={"verdict": "Well balanced."})
    page = page.run()
    assert "Well balanced" in words(page) and "completed" in links_of(page)


def links_of(page: AppTest) -> str:
    return str([link.proto.label for link in page.get("page_link")])


def test_nothing_can_be_run_without_a_session(open_page: Open, store: Store) -> None:
    page = open_page("labs", lab="kmeans", part="5")
    assert all(button.disabled for button in page.button if button.label == "Run this")


def test_a_learner_sees_the_next_step(open_page: Open, store: Store, session: SessionRecord) -> None:
    page = open_page("home")
    assert "Begin with lab 0, First contact" in words(page).replace("\\", "") and "Open the lab" in labels(page)
    store.keep_prediction("Learner", "kmeans", "two-ranks", guess=1.8)
    page = open_page("home")
    assert "You are in lab 1, Distributed k-means" in words(page).replace("\\", "")
    assert "two-ranks" in words(page) and "1.8" in words(page)
    assert "Your next step" not in words(open_page("home", "instructor"))
