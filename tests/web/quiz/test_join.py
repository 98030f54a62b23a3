"""/quiz: who comes into a round, and under which name."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.web.dashboard import Dashboard
from tests.web.quiz.players import begin, join, line
from workshop.store.store import Store
from workshop.store.tables import quiz_players
from workshop.web.auth import hashed
from workshop.web.quiz.round import MOST_PLAYERS

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
RAINBOW = "\U0001f3f3\ufe0f\u200d\U0001f308"


@pytest.mark.parametrize(
    "name",
    [FAMILY, RAINBOW, "\U0001f9d1\U0001f3fd\u200d\U0001f680 Ada",
     "עדה", "عائشة", "می\u200cخواهم", "<b>Bo</b>", "漢字", "x" * 30],
)  # fmt: skip
def test_names_in_all_scripts(dashboard: Dashboard, name: str) -> None:
    record = begin(dashboard)
    visitor = join(dashboard, record, name)
    assert [one.nickname for one in dashboard.store.players(record.id)] == [name]
    assert "<b>Bo" not in visitor.get(f"/quiz/{record.id}", Accept="text/html").text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "give a nickname"),
        ("  \t ", "give a nickname"),
        ("x" * 10_000, "10000 characters"),
        ("\U0001f600" * 3000, "3000 characters"),
        ("a\u202eb", "can&#39;t be shown"),
        ("\u2067a", "can&#39;t be shown"),
        ("a\x00b", "can&#39;t be shown"),
        ("Instructor", "take another one"),
    ],
)
def test_names_that_nobody_can_have(dashboard: Dashboard, name: str, words: str) -> None:
    record = begin(dashboard)
    visitor = dashboard.stranger()
    answer = visitor.post("/quiz", {"code": record.code or "", "nickname": name})
    assert (answer.status, visitor.cookie) == (400, "")
    assert words in answer.text
    assert dashboard.store.players(record.id) == []


def test_the_second_one_of_a_name_gets_a_number_in_this_round_only(dashboard: Dashboard) -> None:
    first, second = begin(dashboard), begin(dashboard)
    for record in (first, first, second):
        join(dashboard, record, FAMILY)
    assert [one.nickname for one in dashboard.store.players(first.id)] == [FAMILY, f"{FAMILY} 2"]
    assert [one.nickname for one in dashboard.store.players(second.id)] == [FAMILY]


def test_who_is_in_already_stays_who_they_are(dashboard: Dashboard) -> None:
    record = begin(dashboard)
    learner = dashboard.learner("Grace")
    cookie = learner.cookie
    assert learner.get(f"/quiz?code={record.code}").status == 303, "a member needs no form"
    join(dashboard, record, "Grace", learner)
    join(dashboard, record, "Another name", learner)
    assert learner.cookie == cookie
    assert [one.nickname for one in dashboard.store.players(record.id)] == ["Grace"]
    player = join(dashboard, record, "Ada")
    identity = dashboard.store.identity(hashed(player.cookie.partition("=")[2]))
    assert identity is not None and (identity.role, identity.nickname) == ("player", "Ada")


def fill(store: Store, round_id: int, players: int) -> None:
    one = {"round_id": round_id, "identity_id": None, "attempt": 1, "joined_at": 1.0, "removed": False}
    with store.database.writing() as connection:
        connection.execute(quiz_players.insert(), [{**one, "nickname": f"P{number}"} for number in range(players)])


def test_who_comes_when_a_round_is_full_is_told_what_to_do(dashboard: Dashboard) -> None:
    record, known = begin(dashboard), dashboard.learner("Grace")
    fill(dashboard.store, record.id, MOST_PLAYERS - 1)
    ada = join(dashboard, record, "Ada", dashboard.learner("Ada"))
    for late in (dashboard.stranger(), known):
        cookie = late.cookie
        answer = late.post("/quiz", {"code": record.code or "", "nickname": "Late"})
        assert answer.status == 409 and "2,500 players are in it" in answer.text
        assert late.cookie == cookie
    join(dashboard, record, "Ada again", ada)
    with line(ada, record) as one:
        assert one.wait("you")["nickname"] == "Ada"
    with line(dashboard.instructor(), record, "host") as host:
        crowd = host.wait("players")["players"]
        host.say(kind="command", do="remove", value=crowd[0]["id"], version=host.version)
        host.wait("players", wanted=lambda told: len(told["players"]) == MOST_PLAYERS - 1)
    join(dashboard, record, "Grace", known)


def test_codes_may_be_typed_as_people_type_and_the_form_needs_no_script(dashboard: Dashboard) -> None:
    record = begin(dashboard)
    code = record.code or ""
    page = dashboard.stranger().get(f"/quiz?code={code}")
    assert f'value="{code}"' in page.text and "<script" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    typed = {"code": f" {code[:3].lower()} {code[3:]}", "nickname": "Ada"}
    assert dashboard.stranger().post("/quiz", typed).status == 303
    assert dashboard.stranger().post("/quiz", {"code": code, "nickname": "x" * 200_000}).status == 413
    assert dashboard.stranger().post("/quiz", {**typed}, Origin="http://evil.example").status == 403
    assert "&lt;i&gt;" in dashboard.stranger().get("/quiz?code=%3Ci%3E").text


def test_a_right_code_gets_in_among_wrong_ones(dashboard: Dashboard) -> None:
    record = begin(dashboard)
    guesses = [{"code": f"X{number:05}", "nickname": "Eve"} for number in range(100)]
    with ThreadPoolExecutor(40) as pool:
        answers = pool.map(lambda guess: dashboard.stranger().post("/quiz", guess), guesses)
        assert dashboard.stranger().post("/quiz", {"code": record.code or "", "nickname": "Ada"}).status == 303
        assert {answer.status for answer in answers} <= {403, 429}
