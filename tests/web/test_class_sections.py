"""The class's page is pushed to the instructor, and to nobody else; forty learners in seven labs within a second."""

from __future__ import annotations

import csv
import io
import json
import time
from typing import Any

from websockets.sync.client import ClientConnection

from tests import classroom
from tests.web.dashboard import Dashboard, sections
from workshop.course.class_progress import Classroom
from workshop.store.records import QuizAnswer
from workshop.store.store import Store
from workshop.web import class_sections
from workshop.web.class_sections import LONGEST_HINT, ClassLook
from workshop.web.classroom import KEY

LEARNERS = 40


def later(line: ClientConnection, name: str, seen: Any) -> Any:
    """The next content of a section that isn't the one that was seen."""
    news = sections(line)
    while name not in news or news[name] == seen:
        news = sections(line)
    return news[name]


def test_everybody_is_pushed(dashboard: Dashboard) -> None:
    store = dashboard.store
    with dashboard.instructor().listen("/live/class") as line:
        first = sections(line)
        assert first["learners"] == [] and first["stuck"] == [] and first["notes"] == []
        assert [lab["number"] for lab in first["labs"]] == list(range(len(first["labs"])))

        store.keep_opened("<i>Eve</i>", "first")
        (eve,) = later(line, "learners", [])
        assert eve["name"] == "<i>Eve</i>" and not eve["stuck"]
        assert [mark["mark"] for mark in eve["labs"][0]["marks"]] == ["none"] * first["labs"][0]["exercises"]
        assert len(eve["labs"]) == 1, "only labs that somebody has begun have a column"

        for _ in range(3):
            store.keep_check("<i>Eve</i>", "first", "mine", "hint", "Look <b>there</b>." + "!" * LONGEST_HINT)
        (stuck,) = later(line, "stuck", [])
        assert stuck["name"] == "<i>Eve</i>" and stuck["words"].startswith("mine in lab 0 (first): 3 checks")
        assert stuck["hint"].startswith("Look <b>there</b>.") and len(stuck["hint"]) == LONGEST_HINT + 2
        store.forget_progress("<i>Eve</i>")
        left = [eve]
        while left:
            left = later(line, "learners", left)


def test_the_lab_of_the_pace_comes_first(dashboard: Dashboard) -> None:
    store = dashboard.store
    store.keep_opened("Bo", "first")
    store.set_setting(KEY, json.dumps({"lab": "kmeans"}))
    with dashboard.instructor().listen("/live/class") as line:
        assert [lab["name"] for lab in sections(line)["labs"]] == ["kmeans", "first"]
    store.set_setting(KEY, json.dumps({}))
    store.forget_progress("Bo")


def test_nobody_else_sees_it(dashboard: Dashboard) -> None:
    dashboard.store.keep_opened("ada", "first")
    with dashboard.learner("ada").listen("/live/class") as line:
        assert sections(line) == {"problem": "Only the instructor can do this."}
    refused = dashboard.learner("bo").get("/live/class.csv")
    assert refused.status == 403 and "ada" not in refused.text
    assert dashboard.stranger().get("/live/class.csv").status == 403
    dashboard.store.forget_progress("ada")


def test_the_table_as_csv(dashboard: Dashboard) -> None:
    store = dashboard.store
    classroom.keep(
        store,
        classroom.wrong("=HYPERLINK(1)", "first", "mine", 2, said="@SUM(1)"),
        classroom.predicted("=HYPERLINK(1)", "first", "speed", guess=-1.5, measured="漢"),
    )
    classroom.quiz(store, "first", {"=HYPERLINK(1)": 3}, questions=5, skipped=["q4"])
    got = dashboard.instructor().get("/live/class.csv")
    assert got.status == 200 and got.headers["content-disposition"] == "attachment; filename=class.csv"
    rows = list(csv.DictReader(io.StringIO(got.body.decode("utf-8-sig"))))
    assert {row["learner"] for row in rows} == {"'=HYPERLINK(1)"}
    mine = next(row for row in rows if row["item"] == "mine")
    assert (mine["state"], mine["tries"], mine["wrong in a row"], mine["hint"]) == ("hint", "2", "2", "'@SUM(1)")
    guess = next(row for row in rows if row["kind"] == "prediction")
    assert (guess["item"], guess["measured"]) == ("speed", "漢")
    (quiz,) = (row for row in rows if row["kind"] == "quiz")
    assert (quiz["item"], quiz["right answers"], quiz["questions"]) == ("live", "3.0", "4")
    grades = dashboard.instructor().get("/live/labs.grades-moodle.csv").body.decode("utf-8-sig").splitlines()
    assert grades[0] == "Username,Labs,Maximum grade" and grades[1].startswith("'=HYPERLINK(1),0,")
    store.forget_progress("=HYPERLINK(1)")


def test_forty_learners_in_all_labs(store: Store) -> None:
    names = classroom.fill(store, LEARNERS)
    room = Classroom(store)
    first = ClassLook(room)()
    assert set(first) == {"labs", "stuck", "learners", "others", "roster", "notes"}
    found = room.look()
    assert {one.name for one in found.learners} == {*names, "only-quizzes"}
    assert [one.name for one in found.learners if one.quizzes_only] == ["only-quizzes"]
    assert any(one.stuck for one in found.learners) and found.learners[0].stuck is not None
    assert len(class_sections.write_csv(found).decode("utf-8-sig").splitlines()) > LEARNERS


def test_a_lab_that_cant_be_read_is_told(store: Store, tmp_path: Any) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "notebook.md").write_text("# Odd\n")
    (tmp_path / "odd" / "lab.yaml").write_text("number: [\n")
    room = Classroom(store, tmp_path)
    store.keep_opened("ada", "odd")
    (ada,) = room.look().learners
    assert [(where.lab.number, where.lab.name, where.begun) for where in ada.labs] == [(None, "odd", True)]
    (problem,) = room.problems
    assert "lab.yaml" in problem and "\n" not in problem


def test_a_quiz_in_a_notebook_is_its_learners(store: Store) -> None:
    """Also where somebody came to the dashboard's door, and to the quiz, with that name before."""
    deck = Classroom(store).look().labs[0].deck
    first = classroom.quiz(store, deck, {"grace": 1}, questions=4, kind="alone")
    hers = store.learner("grace")
    assert hers.nickname == "grace 2"
    player = store.add_player(first, hers.id, "grace")
    assert player.nickname == "grace 2"
    mark = QuizAnswer(first, "q0", player.id, "", 0, time.time() + 1, 1.0, 1.0, True, 0.0)
    store.keep_answers([mark])
    store.keep_opened("grace", "first")
    (grace,) = Classroom(store).look().learners
    assert grace.name == "grace"
    assert [quiz.answered for quiz in grace.labs[0].quizzes] == [1], "the newest one is hers"
