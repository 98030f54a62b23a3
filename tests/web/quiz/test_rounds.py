"""Live rounds: a real dashboard, and learners and hosts at its sockets."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.support import until
from tests.web.dashboard import Dashboard, Visitor
from tests.web.quiz.players import DECK, PATIENCE, Line, begin, join, line

SECRET = ("SECRET", "4711", "Because of")


def test_a_round_from_the_lobby_to_the_end(dashboard: Dashboard) -> None:
    record, host = begin(dashboard), dashboard.instructor()
    ada, bob = join(dashboard, record), join(dashboard, record, "Bob")
    with (
        line(ada, record) as a,
        line(bob, record) as b,
        line(host, record, "host") as h,
        line(host, record, "projector") as p,
    ):
        assert a.wait("you")["nickname"] == "Ada"
        opened = h.do("next", "question")
        assert opened["question"]["id"] == "one" and opened["can"] == ["close", "pause", "extend", "skip", "end"]
        assert a.phase("question")["ends_at"] - opened["now"] > 590
        a.answer("one", "a", ref="x1")
        assert a.wait("confirmed") == {"kind": "confirmed", "question": "one", "ref": "x1"}
        assert p.wait("count", wanted=lambda told: told["answered"] == 1)["players"] == 2
        b.answer("one", "b")
        b.wait("confirmed")
        listed = h.wait("players", wanted=lambda told: all(one["answered"] and one["here"] for one in told["players"]))
        assert [one["nickname"] for one in listed["players"]] == ["Ada", "Bob"]
        closed = h.do("close", "closed")
        assert [one["count"] for one in closed["distribution"]["options"]] == [1, 1, 0]
        assert all(one["right"] is None for one in closed["distribution"]["options"])
        a.phase("closed"), b.phase("closed"), p.phase("closed")
        for told in (a, b, p, h):
            assert not any(secret in json.dumps(told.heard) for secret in SECRET), "nothing is told before it is due"
        h.do("explain", "explained")
        explained = a.phase("explained")
        assert [one["right"] for one in explained["distribution"]["options"]] == [True, False, False]
        assert "that" in explained["solution"]["explanation"] and explained["solution"]["keys"] == ["a"]
        mine = a.wait("you", wanted=lambda you: you["mark"] is not None)
        assert (mine["points"], mine["place"], mine["of"], mine["mark"]["right"]) == (2.0, 1, 2, True)
        theirs = b.wait("you", wanted=lambda you: you["mark"] is not None)
        assert (theirs["points"], theirs["place"], theirs["mark"]["points"]) == (0.0, 2, 0.0)
        assert "SECRET of b" in theirs["mark"]["feedback"][0]
        ranking = h.do("ranking", "ranking")["ranking"]
        assert [(one["place"], one["nickname"], one["points"]) for one in ranking] == [(1, "Ada", 2.0), (2, "Bob", 0.0)]
        h.do("next", "question")
        h.do("skip", "question")
        h.do("close", "closed")
        h.do("explain", "explained")
        assert h.do("next", "podium")["ranking"][0]["nickname"] == "Ada"
        h.do("end", "ended")
        for told in (a, b):
            told.wait("ended")
            with pytest.raises(ConnectionClosed) as closed_line:
                told.wait("nothing")
            assert closed_line.value.rcvd is not None and closed_line.value.rcvd.code == 4001
    kept = dashboard.store.answers(record.id)
    assert Counter((one.nickname, one.points, one.right) for one in kept) == Counter(
        [("Ada", 2.0, True), ("Bob", 0.0, False)]
    )
    state = dashboard.store.round(record.id).state
    assert (state["phase"], state["done"], state["skipped"]) == ("ended", ["one", "three"], ["two"])
    assert (
        "No quiz that goes on" in dashboard.stranger().post("/quiz", {"code": record.code or "", "nickname": "x"}).text
    )


def test_the_first_answer_counts_whichever_tab_it_comes_from(dashboard: Dashboard) -> None:
    record, host = begin(dashboard), dashboard.instructor()
    ada = join(dashboard, record)
    with line(ada, record) as one, line(ada, record) as other, line(host, record, "host") as h:
        h.do("next", "question")
        one.phase("question"), other.phase("question")
        for number in range(5):
            one.answer("one", "b", ref=number)
            other.answer("one", "c", ref=number)
        said = [tab.wait("confirmed", "refused") for tab in (one, other) for _ in range(5)]
        (kept,) = dashboard.store.answers(record.id)
        first = "abc"[kept.answer]
        assert {told["answer"] for told in said if told["kind"] == "refused"} == {first}
        winner = one if first == "b" else other
        winner.answer("one", first, ref="again")  # a browser that lost the line before it was told
        winner.wait("confirmed", wanted=lambda told: told["ref"] == "again")
        assert len(dashboard.store.answers(record.id)) == 1
    with line(ada, record) as back:
        you = back.wait("you")
        assert (you["question"], you["answer"], you["confirmed"], you["mark"]) == ("one", first, True, None)


@pytest.mark.parametrize(
    ("message", "kind", "why"),
    [
        ("[1", "problem", "can't be read"),
        ("[" * 10_000, "problem", "can't be read"),
        ("{}", "problem", "can't be read"),
        (b"\x00\xff", "problem", "can't be read"),
        ({"kind": "answer", "question": "one", "answer": "a", "player": 2}, "problem", "can't be read"),
        ({"kind": "answer", "question": 1, "answer": "a"}, "problem", "can't be read"),
        ({"kind": "answer", "question": "one"}, "refused", "none of the answers"),
        ({"kind": "command", "do": "next", "version": 1}, "problem", "Only the host"),
        ({"kind": "answer", "question": "one", "answer": "z"}, "refused", "none of the answers"),
        ({"kind": "answer", "question": "one", "answer": ["a"]}, "refused", "none of the answers"),
        ({"kind": "answer", "question": "one", "answer": {"a": None}}, "refused", "none of the answers"),
        ({"kind": "answer", "question": "two", "answer": 4}, "refused", "closed"),
        ({"kind": "answer", "question": "nonsense", "answer": 4}, "refused", "closed"),
    ],
)
def test_what_is_no_answer_does_nothing(at_one: tuple[Line, int, Dashboard], message: Any, kind: str, why: str) -> None:
    ada, round_id, dashboard = at_one
    ada.connection.send(json.dumps(message) if isinstance(message, dict) else message)
    assert why in ada.wait(kind)["why"]
    assert dashboard.store.answers(round_id) == []


@pytest.fixture
def at_one(dashboard: Dashboard) -> Any:
    """A learner at an open question."""
    record = begin(dashboard)
    with line(join(dashboard, record), record) as ada, line(dashboard.instructor(), record, "host") as h:
        h.do("next", "question")
        ada.phase("question")
        yield ada, record.id, dashboard


def test_answers_to_what_is_not_open(dashboard: Dashboard) -> None:
    record, host = begin(dashboard), dashboard.instructor()
    with line(join(dashboard, record), record) as ada, line(host, record, "host") as h:
        ada.answer("one", "a")
        assert ada.wait("refused")["why"] == "The question is closed."
        h.do("next", "question")
        h.do("pause", "question")
        ada.answer("one", "a")
        assert "paused" in ada.wait("refused")["why"]
        left = h.do("extend", "question", 60)["left"]
        resumed = h.do("resume", "question")
        # The state is written after the end was set and before it is told, which may take a while.
        assert 640 < left < 661 and left - 15 < resumed["ends_at"] - resumed["now"] <= left + 1
        h.do("close", "closed")
        ada.answer("one", "a")
        ada.wait("refused", wanted=lambda told: told["why"] == "The question is closed.")
        h.do("reopen", "question", 60)
        ada.answer("one", "a")
        ada.wait("confirmed")
        h.do("close", "closed")
        h.do("explain", "explained")
        h.say(kind="command", do="reopen", version=h.version)
        assert "everybody has seen the answer" in h.wait("problem")["why"]
        h.do("ranking", "ranking")
    assert [one.points for one in dashboard.store.answers(record.id)] == [2.0]


def test_a_question_closes_by_itself(dashboard: Dashboard) -> None:
    record = begin(dashboard, DECK.replace("seconds: 600", "seconds: 5"))
    with line(join(dashboard, record), record) as ada, line(dashboard.instructor(), record, "host") as h:
        h.do("next", "question")
        ada.phase("question")
        closed = ada.phase("closed")
        ada.answer("one", "a")
        assert ada.wait("refused")["why"] == "The question is closed."
        assert closed["now"] >= dashboard.store.round(record.id).state["ends_at"]


def test_a_second_click_and_another_tab_do_nothing(dashboard: Dashboard) -> None:
    record, host = begin(dashboard), dashboard.instructor()
    with line(host, record, "host") as h, line(host, record, "host") as other:
        for _ in range(2):
            h.say(kind="command", do="next", version=0)
        assert h.phase("question")["number"] == other.phase("question")["number"] == 1
        assert "gone on meanwhile" in h.has("problem")["why"]
        other.say(kind="command", do="next", version=0)
        assert "gone on meanwhile" in other.wait("problem")["why"]
        for wrong in ({"do": "next"}, {"do": "next", "version": True}, {"do": "fly", "version": 1}, {"version": 1}):
            h.say(kind="command", **wrong)
            h.wait("problem")
        for wrong in ("x", None, 99, [99], ["x"]):
            h.say(kind="command", do="remove", value=wrong)
            h.wait("problem")
        assert dashboard.store.round(record.id).state["position"] == 0
        assert other.do("close", "closed")["version"] == h.phase("closed")["version"]


def test_somebody_who_was_removed_stays_out(dashboard: Dashboard) -> None:
    record, host = begin(dashboard), dashboard.instructor()
    ada, bob = join(dashboard, record), join(dashboard, record, "Bob")
    with line(ada, record) as a, line(bob, record) as b, line(host, record, "host") as h:
        me = a.wait("you")["id"]
        h.do("next", "question")
        for learner in (a, b):
            learner.phase("question")
            learner.answer("one", "a")
            learner.wait("confirmed")
        h.say(kind="command", do="remove", value=me)
        assert "removed you" in a.wait("removed")["why"]
        with pytest.raises(ConnectionClosed):
            a.wait("nothing")
        assert [
            one["nickname"] for one in h.wait("players", wanted=lambda told: len(told["players"]) == 1)["players"]
        ] == ["Bob"]
        h.do("close", "closed")
        explained = h.do("explain", "explained")
        assert [one["count"] for one in explained["distribution"]["options"]] == [1, 0, 0]
        assert [one["nickname"] for one in h.do("ranking", "ranking")["ranking"]] == ["Bob"]
    again = ada.post("/quiz", {"code": record.code or "", "nickname": "Eve"})
    assert again.status == 403 and "can&#39;t join it again" in again.text
    with ada.listen(f"/quiz/{record.id}/socket?view=player") as connection:
        assert json.loads(connection.recv(timeout=PATIENCE))["kind"] == "removed"
    assert {one.nickname: one.points for one in dashboard.store.answers(record.id)} == {"Ada": None, "Bob": 2.0}


def test_a_host_removes_several_and_lets_nobody_new_in(dashboard: Dashboard) -> None:
    record, host = begin(dashboard), dashboard.instructor()
    ada, bob, eve = (join(dashboard, record, name) for name in ("Ada", "Bob", "Eve"))
    with line(ada, record) as a, line(eve, record) as e, line(host, record, "host") as h:
        assert h.has("state")["locked"] is False
        h.say(kind="command", do="lock", version=h.version)
        assert h.wait("state", wanted=lambda state: state["locked"])["phase"] == "lobby"
        late = Visitor(dashboard.port).post("/quiz", {"code": record.code or "", "nickname": "Late"})
        assert late.status == 409 and "locked this round: nobody new can join" in late.text
        assert "Late" not in {one.nickname for one in dashboard.store.players(record.id)}
        assert bob.post("/quiz", {"code": record.code or "", "nickname": "Bob"}).status == 303, "who is in comes back"
        ids = [one.wait("you")["id"] for one in (a, e)]
        h.say(kind="command", do="remove", value=[*ids, 99])
        assert "no player 99" in h.wait("problem")["why"]
        h.say(kind="command", do="remove", value=ids)
        for learner in (a, e):
            assert "removed you" in learner.wait("removed")["why"]
        left = h.wait("players", wanted=lambda told: len(told["players"]) == 1)["players"]
        assert [one["nickname"] for one in left] == ["Bob"]
        h.say(kind="command", do="unlock", version=h.version)
        h.wait("state", wanted=lambda state: not state["locked"])
        join(dashboard, record, "Late")


def test_late_joiners_get_the_present_state_and_several_rounds_go_on_at_once(dashboard: Dashboard) -> None:
    host = dashboard.instructor()
    first, second = begin(dashboard), begin(dashboard)
    with line(host, first, "host") as h, line(host, second, "host") as other:
        h.do("next", "question")
        with line(join(dashboard, first, "Late"), first) as late:
            assert late.heard[-1]["phase"] == "question"
        with line(join(dashboard, second, "Early"), second) as early:
            assert early.heard[-1]["phase"] == "lobby"
            other.do("next", "question")
            other.do("close", "closed")
            assert early.phase("closed")["title"] == "A <b>try</b>"
        assert dashboard.store.round(first.id).state["phase"] == "question"


def test_who_may_see_what(dashboard: Dashboard) -> None:
    record = begin(dashboard)
    player, learner, stranger = join(dashboard, record), dashboard.learner(), dashboard.stranger()
    pages = {"Accept": "text/html"}
    assert player.get(f"/quiz/{record.id}", **pages).status == 200
    assert learner.get(f"/quiz/{record.id}", **pages).headers["location"] == f"/quiz?code={record.code}"
    assert stranger.get(f"/quiz/{record.id}", **pages).headers["location"] == "/quiz"
    elsewhere = begin(dashboard)  # whose code is not for those of another round
    assert player.get(f"/quiz/{elsewhere.id}", **pages).headers["location"] == "/quiz"
    for view in ("host", "projector"):
        assert dashboard.instructor().get(f"/quiz/{record.id}/{view}").status == 200
        for visitor in (player, learner, stranger):
            assert visitor.get(f"/quiz/{record.id}/{view}").status == 403
            with pytest.raises(InvalidStatus), visitor.listen(f"/quiz/{record.id}/socket?view={view}"):
                pass
    for path in ("/", "/history", "/run?run=1"):
        assert player.get(path, **pages).headers["location"].startswith("/join")
    for path in ("/artifact/1/x", "/live/run/1", "/_stcore/host-config"):
        assert player.get(path).status == 403
    with pytest.raises(InvalidStatus), player.listen("/_stcore/stream"):
        pass
    with learner.listen(f"/quiz/{record.id}/socket") as outside:
        assert "not joined" in json.loads(outside.recv(timeout=PATIENCE))["why"]
    with learner.listen("/quiz/9999/socket") as nowhere:
        assert "no quiz round" in json.loads(nowhere.recv(timeout=PATIENCE))["why"]
    joined = join(dashboard, record, "As I like", learner)
    assert "As I like" in joined.get(f"/quiz/{record.id}", **pages).text


def test_a_round_without_a_ranking(dashboard: Dashboard) -> None:
    record = begin(dashboard, speed_bonus=True, ranking=False)
    with line(dashboard.instructor(), record, "host") as h:
        assert "half as much again" in h.heard[0]["rules"]
        h.do("next", "question"), h.do("close", "closed")
        assert "ranking" not in h.do("explain", "explained")["can"]
        h.say(kind="command", do="ranking", version=h.version)
        assert "no ranking" in h.wait("problem")["why"]


def test_pages_bring_nothing_of_others_and_show_the_code(dashboard: Dashboard) -> None:
    record, host = begin(dashboard), dashboard.instructor()
    page = host.get(f"/quiz/{record.id}/projector")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert "A &lt;b&gt;try" in page.text and "<b>try" not in page.text
    assert record.code in page.text and "data:image/svg+xml" in page.text
    script = dashboard.stranger().get("/assets/quiz/connection.js")
    assert script.status == 200 and "javascript" in script.headers["content-type"]
    assert script.headers["cache-control"] == "public, no-cache"
    assert dashboard.stranger().get("/assets/quiz/connection.js", If_None_Match=script.headers["etag"]).status == 304
    for name in ("socket.py", "nothing.js"):
        assert dashboard.stranger().get(f"/assets/quiz/{name}").status == 404


def test_the_room_of_a_round_forgets_with_the_store(dashboard: Dashboard) -> None:
    record, host = begin(dashboard), dashboard.instructor()
    ada = join(dashboard, record)
    with line(ada, record) as a, line(host, record, "host") as h:
        me = a.wait("you")["id"]
        h.wait("players", wanted=lambda told: len(told["players"]) == 1)
        answer = host.post(f"/quiz/{record.id}/forget", {"player": str(me), "sure": "yes"})
        assert answer.status in (200, 303), answer.text
        assert "removed" in a.wait("removed")["why"]
        h.wait("players", wanted=lambda told: told["players"] == [])
    until(lambda: dashboard.store.players(record.id) == [], 10, "nobody in the round")
