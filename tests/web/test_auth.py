"""Codes, tokens, whom they let in, and what ends when somebody or everybody is logged out."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed

from tests.support import until
from tests.web.dashboard import HTML, Dashboard, identity
from workshop.store.identities import LONGEST_NICKNAME
from workshop.store.store import Store
from workshop.web import auth
from workshop.web.auth import let_in, new_secrets
from workshop.web.auth_middleware import OUT
from workshop.web.code_form import local


def test_the_store_never_sees_the_token(store: Store, workshop_home: Path) -> None:
    token, code = auth.new_secrets(store)
    assert auth.is_instructor_token(store, token)
    assert auth.is_class_code(store, code)
    store.close()
    written = b"".join(path.read_bytes() for path in workshop_home.rglob("*") if path.is_file())
    assert token.encode() not in written
    assert auth.hashed(token).encode() in written


def test_new_secrets_end_the_old_ones(store: Store) -> None:
    old, old_code = auth.new_secrets(store)
    auth.new_secrets(store)
    assert not auth.is_instructor_token(store, old)
    assert not auth.is_class_code(store, old_code)


def test_new_secrets_end_the_cookies_of_the_old_ones(store: Store) -> None:
    known = {role: auth.let_in(store, role, role) for role in ("instructor", "learner", "player")}
    auth.new_secrets(store)
    still = [role for role, (_, secret) in known.items() if store.identity(auth.hashed(secret)) is not None]
    assert still == ["player"], "who came in by a quiz's code, which is no other one"
    auth.log_everybody_out(store)
    assert store.identity(auth.hashed(known["player"][1])) is None


def test_who_comes_again_stays_who_they_were(store: Store) -> None:
    ada, secret = auth.let_in(store, "learner", "Ada")
    auth.new_secrets(store)
    again, new = auth.let_in(store, "learner", "Ada", secret)
    assert again == ada and new != secret
    assert auth.let_in(store, "learner", "Ada", secret)[0].nickname == "Ada 2", "what it was worth is used up"
    assert auth.let_in(store, "learner", "Ada", "guess")[0].nickname == "Ada 3"


def test_without_secrets_nobody_is_let_in(store: Store) -> None:
    assert not auth.is_instructor_token(store, "")
    assert not auth.is_class_code(store, "")


def test_equal_nicknames_get_numbers(store: Store) -> None:
    names = [auth.let_in(store, "learner", "Ada")[0].nickname for _ in range(3)]
    assert names == ["Ada", "Ada 2", "Ada 3"]
    long = [auth.let_in(store, "learner", "x" * 30)[0].nickname for _ in range(2)]
    assert len(set(long)) == 2
    assert max(map(len, long)) <= LONGEST_NICKNAME


@given(st.one_of(st.text(), st.text("/\\.:@[]ht p", max_size=12).map(lambda text: "/" + text)))
def test_the_way_on_never_leads_elsewhere(wanted: str) -> None:
    way = local(wanted)
    assert way.startswith("/")
    assert not way.startswith(("//", "/\\"))
    assert way.isprintable()


@pytest.mark.parametrize("wanted", ["//[", "//]", "/\\[", "http://[", "//\u2100"])
def test_a_way_on_that_is_no_address_is_the_first_page(wanted: str) -> None:
    assert local(wanted) == "/"


def test_new_secrets_end_what_old_ones_opened(dashboard: Dashboard) -> None:
    learner, instructor = dashboard.learner("Lea"), dashboard.instructor()
    before = identity(dashboard, learner)
    player = dashboard.stranger()
    player.cookie = f"workshop_{dashboard.port}={let_in(dashboard.store, 'player', 'Pam')[1]}"
    assert learner.get("/", **HTML).status == instructor.get("/", **HTML).status == 200
    with learner.listen("/live/session/class") as line:
        line.recv(timeout=60)
        dashboard.token, dashboard.code = new_secrets(dashboard.store)
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                line.recv(timeout=60)
        assert closed.value.rcvd is not None and closed.value.rcvd.code == OUT
    until(lambda: learner.get("/", **HTML).status == 303 == instructor.get("/", **HTML).status, 60, "an end of cookies")
    assert player.get("/leave").status == 200, "the code of a round is the same as before"
    # With the new code and the old cookie one is who one was.
    assert 'value="Lea"' in learner.get("/join").text
    assert learner.post("/join", {"code": dashboard.code, "nickname": "Lea"}).status == 303
    assert identity(dashboard, learner) == before
    assert dashboard.stranger().get(f"/?token={dashboard.token}", **HTML).headers["cache-control"] == "no-store"


def test_everybody_can_log_out(dashboard: Dashboard) -> None:
    assert dashboard.stranger().get("/leave").headers["location"] == "/join"
    assert dashboard.stranger().post("/leave", {"who": "all"}).headers["location"] == "/join"
    for role, name in (("learner", "<b>Ole</b>"), ("player", "Pia"), ("instructor", "Instructor")):
        visitor = dashboard.stranger()
        visitor.cookie = kept = f"workshop_{dashboard.port}={let_in(dashboard.store, role, name)[1]}"
        assert f"<bdi>{escape(name)}</bdi>" in visitor.get("/leave").text
        answer = visitor.post("/leave", {"who": "me"})
        assert (answer.status, answer.headers["location"]) == (303, "/join")
        assert visitor.cookie.partition("=")[0] == kept.partition("=")[0] and visitor.cookie != kept
        assert visitor.get("/leave", **HTML).status == 303, "what the browser has now lets nobody in"
        visitor.cookie = kept
        until(lambda visitor=visitor: visitor.get("/leave", **HTML).status == 303, 60, f"the end of the {role}")
        assert name not in visitor.get("/join").text, "nobody comes back as them"


def test_the_instructor_logs_everybody_out(dashboard: Dashboard) -> None:
    learner, other, instructor = dashboard.learner("Max"), dashboard.instructor(), dashboard.instructor()
    assert "Log everybody out" not in learner.get("/leave").text
    assert learner.post("/leave", {"who": "all"}).status == 403
    assert learner.get("/", **HTML).status == 200
    old = dashboard.code
    page = instructor.post("/leave", {"who": "all"})
    assert (page.status, page.headers["cache-control"]) == (200, "no-store")
    dashboard.code = re.search(r'class="code">(\w+)<', page.text)[1]
    dashboard.token = re.search(r"token=([\w-]+)<", page.text)[1]
    until(lambda: learner.get("/", **HTML).status == 303 == other.get("/", **HTML).status, 60, "an end of cookies")
    assert instructor.get("/", **HTML).status == 200
    assert dashboard.stranger().post("/join", {"code": old, "nickname": "Max"}).status == 403
    dashboard.learner("Mia")
    dashboard.instructor()
