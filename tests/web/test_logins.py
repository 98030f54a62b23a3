"""Logging out, oneself and everybody, and new secrets: what ends, over real HTTP and WebSockets."""

from __future__ import annotations

import re
from html import escape

import pytest
from websockets.exceptions import ConnectionClosed

from tests.support import until
from tests.web.dashboard import HTML, Dashboard, identity
from workshop.web.auth import let_in, new_secrets
from workshop.web.auth_middleware import OUT


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
