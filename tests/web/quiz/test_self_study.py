"""Learning alone, over real HTTP: a server in this process, on a deck with one question of each type."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.quiz.nine import IDS, SECRETS, YAML, right
from tests.support import until
from tests.web import seed
from tests.web.dashboard import Answer, Visitor
from tests.web.serving import served
from workshop.quiz import reader
from workshop.quiz.types import place
from workshop.store.store import Store
from workshop.web import auth
from workshop.web.auth_middleware import cookie_name
from workshop.web.quiz import self_study

HTML = {"Accept": "text/html"}
PICTURE = "<svg xmlns='http://www.w3.org/2000/svg'><rect width='4' height='4'/></svg>"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of decks: nine.yaml, and one that nobody can read."""
    folder = tmp_path / "decks"
    folder.mkdir()
    (folder / "nine.yaml").write_text(YAML.replace("type: poll\n", "type: poll\n    picture: {file: a.svg, alt: A}\n"))
    (folder / "a.svg").write_text(PICTURE)
    (folder / "broken.yaml").write_text("deck: broken\n")
    monkeypatch.setattr(reader, "shipped", lambda: {path.stem: path for path in folder.glob("*.yaml")})
    return folder


@pytest.fixture
def port(store: Store, shelf: Path) -> Iterator[int]:
    with served(store, lambda port: self_study.routes(store)) as port:
        yield port


def visitor(store: Store, port: int, role: str = "learner", nickname: str = "Ada") -> Visitor:
    return Visitor(port, f"{cookie_name(port)}={auth.let_in(store, role, nickname)[1]}")


def see(who: Visitor, path: str) -> dict[str, Any]:
    answer = who.get(f"/quiz/alone/nine{path}")
    assert answer.status == 200, answer.text
    return json.loads(answer.body)


def send(who: Visitor, path: str, deck: str = "nine", **body: Any) -> Answer:
    return who.ask("POST", f"/quiz/alone/{deck}{path}", json.dumps(body), {"Content-Type": "application/json"})


def test_the_page_is_a_shell_under_a_strict_policy(store: Store, port: int) -> None:
    page = visitor(store, port).get("/quiz/alone/nine", **HTML)
    assert page.status == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert 'data-deck="nine"' in page.text
    assert "One of each" in page.text
    assert not [secret for secret in SECRETS if secret in page.text]


@pytest.mark.real
def test_one_goes_through_a_deck_and_comes_back(store: Store, port: int) -> None:
    ada = visitor(store, port)
    state = see(ada, "/state")
    assert [one["id"] for one in state["questions"]] == list(IDS)
    assert not [secret for secret in SECRETS if secret in json.dumps(state)]
    for number, id in enumerate(IDS):
        shown = see(ada, f"/question/{id}")["shown"]
        assert not [secret for secret in SECRETS if secret in json.dumps(shown)]
        answer = send(ada, "/answer", question=id, answer=right(shown), attempt=1)
        assert answer.status == 200, answer.text
        assert sum(one["answered"] for one in json.loads(answer.body)["state"]["questions"]) == number + 1
    state = see(ada, "/state")
    assert (state["points"], state["of"]) == (7, 8)
    assert {one["id"] for one in state["questions"] if not one["judged"]} == {"how-long"}
    assert see(ada, "/question/one-right")["solution"]["explanation"].count("marmalade") == 1
    fresh = json.loads(send(ada, "/again", attempt=1).body)
    assert (fresh["attempt"], fresh["points"]) == (2, 0)
    late = send(ada, "/answer", question=IDS[0], answer="a", attempt=1)
    assert (late.status, "started this quiz over" in late.text) == (400, True)
    assert see(visitor(store, port, nickname="Eve"), "/state")["points"] == 0


@pytest.mark.real
def test_a_prediction_is_checked_against_a_run_of_one_s_own(store: Store, port: int) -> None:
    ada = visitor(store, port)
    assert see(ada, "/state")["attempt"] == 1
    with seed.alive(store, "class") as session:
        early = send(ada, "/run", question="how-long", attempt=1)
        assert (early.status, "Predict first" in early.text) == (400, True)
        kept = json.loads(send(ada, "/answer", question="how-long", answer="3", attempt=1).body)
        assert (kept["mark"], kept["solution"], kept["measuring"]["run"]) == (None, None, True)
        going = json.loads(send(ada, "/run", question="how-long", attempt=1).body)
        (run,) = store.runs()
        assert (run.submitted_by, f"run {run.id}" in going["measuring"]["words"]) == ("Ada", True)
        store.take_next(session.id)
        store.finish(run.id, "completed", metrics={"iterations": 3})
    seen = see(ada, "/question/how-long")
    assert (seen["measuring"], seen["mark"]["right"], seen["state"]["points"]) == (None, True, 1)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("", "can't be read"),
        ("[1]", "can't be read"),
        ("{", "can't be read"),
        ("[" * 5000, "can't be read"),
        ("x" * 90_000, "far too much"),
        ('{"question": "one-right", "answer": "a"}', "started this quiz over"),
        ('{"question": "one-right", "answer": "q", "attempt": 1}', "none of the answers"),
        ('{"question": "one-right", "answer": {"a": "\\ud800"}, "attempt": 1}', "none of the answers"),
        ('{"question": ["x"], "answer": "a", "attempt": 1}', "has no question"),
        ('{"answer": "a", "attempt": 1}', "has no question"),
    ],
)
def test_what_is_no_answer_is_refused_in_one_sentence(store: Store, port: int, body: str, why: str) -> None:
    ada = visitor(store, port)
    answer = ada.ask("POST", "/quiz/alone/nine/answer", body, {"Content-Type": "application/json"})
    assert answer.status == 400, answer.text
    assert why in json.loads(answer.body)["error"]
    assert store.answers() == []


def test_only_those_of_the_class_come_in(store: Store, port: int) -> None:
    assert Visitor(port).get("/quiz/alone/nine", **HTML).status == 303
    assert Visitor(port).get("/quiz/alone/nine/state").status == 403
    player = visitor(store, port, "player", "Bob")
    assert "for those in the class" in player.get("/quiz/alone/nine", **HTML).text
    for answer in (player.get("/quiz/alone/nine/state"), send(player, "/answer", question="one-right", attempt=1)):
        assert (answer.status, "for those in the class" in answer.text) == (400, True)
    assert store.rounds() == []
    elsewhere = visitor(store, port).post("/quiz/alone/nine/answer", Origin="http://evil.example")
    assert elsewhere.status == 403


def test_decks_that_are_not_there(store: Store, port: int) -> None:
    ada = visitor(store, port)
    for name in ("nothing", "..%2f..%2fetc%2fpasswd", "<b>"):
        page = ada.get(f"/quiz/alone/{name}", **HTML)
        assert page.status == 404, name
        assert "text/plain" in page.headers.get("content-type", "text/plain")
    assert "There is no quiz 'nothing'; there are " in ada.get("/quiz/alone/nothing/state").text
    assert ada.get("/quiz/alone/broken/state").status == 400


def test_pictures_are_sealed(store: Store, port: int) -> None:
    ada = visitor(store, port)
    src = see(ada, "/question/which-lab")["shown"]["picture"]["src"]
    picture = ada.get(f"/{src}")
    assert (picture.status, picture.text) == (200, PICTURE)
    assert picture.headers["content-type"].startswith("image/svg+xml")
    assert "sandbox" in picture.headers["content-security-policy"]
    for other in ("one-right", "nothing", "..%2fa.svg"):
        assert ada.get(f"/quiz/alone/nine/picture/{other}").status == 404


def test_many_placements_at_once_ask_the_mapper_once(store: Store, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are answered while the mapper is asked."""
    ada, bob = visitor(store, port), visitor(store, port, nickname="Bob")
    attempt = see(ada, "/state")["attempt"]
    ask, go, asked = place.mapper.predict, threading.Event(), []

    def slowly(*given: Any) -> Any:
        asked.append(given)
        go.wait(60)
        return ask(*given)

    monkeypatch.setattr(place.mapper, "predict", slowly)
    answer = {"question": "put-them", "attempt": attempt}
    first: list[Answer] = []

    def send_one(bind_to: str) -> None:
        own = Visitor(port, ada.cookie)
        first.append(send(own, "/answer", **answer, answer={"map_by": "numa", "bind_to": bind_to}))

    threads = [threading.Thread(target=send_one, args=(bind_to,)) for bind_to in ("numa", "core")]
    for thread in threads:
        thread.start()
    try:
        until(lambda: len(asked) == 2, 60, "the mapper")
        assert [see(one, "/state")["attempt"] for one in (ada, bob)] == [attempt, 1]
        assert see(ada, "/question/put-them")["answer"] is None, "what nobody has answered needs no mapper"
    finally:
        go.set()
        for thread in threads:
            thread.join(120)
    assert sorted(one.status for one in first) == [200, 400]
    before = len(asked)
    again = send(ada, "/answer", **answer, answer={"map_by": "hwthread", "bind_to": "core"})
    assert again.status == 400 and "answered this question already" in again.text and len(asked) == before
