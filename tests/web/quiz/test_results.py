"""Results over real HTTP: whom they are shown to, what the files are, and how somebody's data are removed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import openpyxl
import pytest

from tests.web.dashboard import Visitor
from tests.web.quiz.counted import LEARNERS, Counted, counted
from workshop.quiz.live import RoundState
from workshop.store.store import Store

HTML = {"Accept": "text/html"}


@pytest.fixture
def there(store: Store) -> Iterator[Counted]:
    with counted(store) as made:
        yield made


def test_results_are_for_the_instructor(there: Counted) -> None:
    for ending in ("", ".csv", ".xlsx", ".html"):
        path = f"/quiz/{there.round.id}/results{ending}"
        assert there.visitor("Ada").get(path).status == 403
        assert "Grace" not in there.visitor("Ada").get(path).text
        assert Visitor(there.port).get(path, **HTML).headers["location"].startswith("/join")
        assert there.visitor("Instructor").get(path).status == 200


def test_the_page_says_what_came_out_under_a_strict_policy(there: Counted) -> None:
    page = there.visitor("Instructor").get(f"/quiz/{there.round.id}/results", **HTML)
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["cache-control"] == "no-store"
    for part in ("<script", "<b>bold", "javascript:"):
        assert part not in page.text
    for part in ("Why", "Next", "Zoë &lt;b&gt;bold&lt;/b&gt;", f"quiz/{there.round.id}/results.xlsx"):
        assert part in page.text


def test_files_are_those_of_the_round(there: Counted) -> None:
    instructor, path = there.visitor("Instructor"), f"/quiz/{there.round.id}/results"
    table = instructor.get(f"{path}.csv")
    assert 'filename="ranks-round-2.csv"' in table.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(table.body.decode("utf-8-sig"), newline="")))
    assert len(rows) == LEARNERS * 7
    assert '\'=HYPERLINK("http://x")' in {row["learner"] for row in rows}
    book = openpyxl.load_workbook(io.BytesIO(instructor.get(f"{path}.xlsx").body))
    assert book.sheetnames == ["Questions", "Learners", "Answers"]
    report = instructor.get(f"{path}.html?anonymous=1")
    assert "attachment" in report.headers["content-disposition"]
    assert "learner-12" in report.text
    assert "Grace" not in report.text
    grades = instructor.get(f"{path}.grades-moodle.csv")
    assert 'filename="ranks-round-2.grades-moodle.csv"' in grades.headers["content-disposition"]
    assert grades.body.decode("utf-8-sig").startswith("Username,Ranks and their cores,Maximum grade\r\n")
    assert instructor.get(f"{path}.exe").status == 404
    assert instructor.get("/quiz/99/results.csv").status == 404


def test_the_instructor_removes_one_learner(there: Counted) -> None:
    player = there.store.players(there.round.id)[2]
    instructor, path = there.visitor("Instructor"), f"/quiz/{there.round.id}/forget"
    asked = instructor.post(path, {"player": str(player.id)})
    assert len(there.store.players(there.round.id)) == LEARNERS, "asking removes nothing"
    assert "of <bdi>Zoë &lt;b&gt;bold&lt;/b&gt;</bdi>" in asked.text
    gone = instructor.post(path, {"player": str(player.id), "sure": "yes"})
    assert gone.headers["location"].startswith(f"/quiz/{there.round.id}/results?gone=")
    page = instructor.get(gone.headers["location"]).text
    assert "answers and the name are removed." in page
    assert "Zoë" not in page


def test_only_the_instructor_removes_data_and_only_those_of_the_round(there: Counted) -> None:
    first = there.store.players(there.round.id)[0]
    elsewhere = there.store.players(there.before.id)[0]
    path = f"/quiz/{there.round.id}/forget"
    assert there.visitor("Grace").post(path, {"player": str(first.id), "sure": "yes"}).status == 403
    instructor = there.visitor("Instructor")
    for wrong in (str(elsewhere.id), "x", ""):
        assert instructor.post(path, {"player": wrong, "sure": "yes"}).status == 404
    assert instructor.post("/quiz/99/forget", {"sure": "yes"}).status == 404
    assert instructor.get(path).status == 405, "a link removes nothing"
    assert instructor.post(path, {"player": str(first.id), "sure": "yes"}, Origin="http://evil.example").status == 403
    assert len(there.store.players(there.round.id)) == LEARNERS
    assert "<script" not in instructor.get(f"/quiz/{there.round.id}/results?gone=<script>alert(1)</script>").text


def test_a_round_that_goes_on_leads_back_to_its_host(there: Counted) -> None:
    there.store.set_round_state(there.round.id, RoundState(phase="explained", position=2).as_json())
    page = there.visitor("Instructor").get(f"/quiz/{there.round.id}/results").text
    assert "The round is still going on" in page and f'href="quiz/{there.round.id}/host"' in page
