"""Results over real HTTP: whom they are shown to, what the files are, and how somebody's data are removed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import openpyxl
import pytest
from sqlalchemy import select

from tests.server.dashboard import Visitor
from tests.server.quiz.counted import LEARNERS, Counted, counted
from workshop.quiz.live.state import RoundState
from workshop.server import auth
from workshop.store import tables
from workshop.store.store import Store

HTML = {"Accept": "text/html"}


@pytest.fixture
def there(store: Store) -> Iterator[Counted]:
    with counted(store) as made:
        yield made


def nicknames(store: Store) -> set[str]:
    """Of everybody who ever came in."""
    with store.database.reading() as connection:
        return set(connection.scalars(select(tables.identities.c.nickname)))


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
    for part in ("Why", "Next", "Zoë &lt;b&gt;bold&lt;/b&gt;", f"/quiz/{there.round.id}/results.xlsx", "round 1"):
        assert part in page.text


def test_two_rounds_are_compared_where_asked(there: Counted) -> None:
    instructor = there.visitor("Instructor")
    path = f"/quiz/{there.round.id}/results"
    assert "Before and after" not in instructor.get(path).text
    compared = instructor.get(f"{path}?before={there.before.id}").text
    assert f"for {LEARNERS} learners who took part in both" in compared
    assert f"results.html?before={there.before.id}" in compared
    for wrong in ("99", "x", "-1"):
        refused = instructor.get(f"{path}?before={wrong}")
        assert refused.status == 404 and "There is no quiz round" in refused.text


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
    assert instructor.get(f"{path}.exe").status == 404
    assert instructor.get("/quiz/99/results.csv").status == 404


def test_somebody_removes_their_own_data_after_being_asked_again(there: Counted) -> None:
    grace, path = there.visitor("Grace"), f"/quiz/{there.round.id}/forget"
    mine = grace.get("/quiz/mine", **HTML).text
    assert mine.count("Remove my data") == 2
    assert "as <bdi>Grace</bdi>" in mine
    asked = grace.post(path)
    assert (asked.status, "Remove for good" in asked.text) == (200, True)
    assert len(there.store.players(there.round.id)) == LEARNERS, "asking removes nothing"
    gone = grace.post(path, {"sure": "yes"})
    assert gone.status == 303
    told = grace.get(gone.headers["location"]).text
    assert "answers and the name are removed." in told
    assert told.count("Remove my data") == 1, "the other round is kept"
    assert "Grace" in nicknames(there.store)
    assert "Grace" not in {player.nickname for player in there.store.players(there.round.id)}
    instructor = there.visitor("Instructor")
    for ending in ("", ".csv", ".html"):
        assert "Grace" not in instructor.get(f"/quiz/{there.round.id}/results{ending}").text
    assert "Grace" in instructor.get(f"/quiz/{there.before.id}/results").text
    again = grace.post(path, {"sure": "yes"})
    assert (again.status, "removed already" in again.text) == (404, True)
    assert grace.post(f"/quiz/{there.before.id}/forget", {"sure": "yes"}).status == 303
    assert "Grace" not in nicknames(there.store), "nothing holds the name any more"


def test_the_instructor_removes_one_learner(there: Counted) -> None:
    player = there.store.players(there.round.id)[2]
    instructor, path = there.visitor("Instructor"), f"/quiz/{there.round.id}/forget"
    asked = instructor.post(path, {"player": str(player.id)})
    assert "of <bdi>Zoë &lt;b&gt;bold&lt;/b&gt;</bdi>" in asked.text
    gone = instructor.post(path, {"player": str(player.id), "sure": "yes"})
    assert gone.headers["location"].startswith(f"/quiz/{there.round.id}/results?gone=")
    page = instructor.get(gone.headers["location"]).text
    assert "answers and the name are removed." in page
    assert "Zoë" not in page


def test_nobody_removes_what_is_not_theirs(there: Counted) -> None:
    first = there.store.players(there.round.id)[0]
    elsewhere = there.store.players(there.before.id)[0]
    refused = there.visitor("Grace").post(f"/quiz/{there.round.id}/forget", {"player": str(first.id), "sure": "yes"})
    assert refused.status == 403
    instructor = there.visitor("Instructor")
    for wrong in (str(elsewhere.id), "x", "0", "9" * 40):
        path = f"/quiz/{there.round.id}/forget"
        assert instructor.post(path, {"player": wrong, "sure": "yes"}).status == 404
    assert instructor.post("/quiz/99/forget", {"sure": "yes"}).status == 404
    assert there.visitor("Grace").get(f"/quiz/{there.round.id}/forget").status == 405, "a link removes nothing"
    evil = there.visitor("Grace").post(f"/quiz/{there.round.id}/forget", {"sure": "yes"}, Origin="http://evil.example")
    assert evil.status == 403
    too_much = there.visitor("Grace").post(f"/quiz/{there.round.id}/forget", {"sure": "x" * 100_000})
    assert too_much.status == 404
    assert len(there.store.players(there.round.id)) == LEARNERS
    assert "<script" not in there.visitor("Grace").get("/quiz/mine?gone=<script>alert(1)</script>").text


def test_who_took_part_in_nothing_is_told_so(there: Counted) -> None:
    _, secret = auth.let_in(there.store, "learner", "New")
    there.secrets["New"] = secret
    assert "No round of a quiz holds anything of you." in there.visitor("New").get("/quiz/mine").text


def test_in_a_round_that_goes_on_data_are_removed_too(there: Counted) -> None:
    going_on = RoundState(phase="explained", position=2)
    there.store.set_round_state(there.round.id, going_on.as_json())
    grace = there.visitor("Grace")
    assert grace.post(f"/quiz/{there.round.id}/forget", {"sure": "yes"}).status == 303
    page = there.visitor("Instructor").get(f"/quiz/{there.round.id}/results").text
    assert "The round is still going on" in page and f'href="/quiz/{there.round.id}/host"' in page
    assert "Grace" not in page
