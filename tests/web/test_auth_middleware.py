"""Who may come in, over real HTTP and WebSockets."""

from __future__ import annotations

import asyncio
import re
import socket
import subprocess
import sys
import time
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from tests.support import limit
from tests.web.dashboard import HTML, Dashboard
from workshop.store.store import Store
from workshop.web import address, auth_middleware, limits
from workshop.web.auth import hashed, new_ticket
from workshop.web.prefix import behind


def test_strangers_are_sent_to_the_door_and_back_to_where_they_wanted(dashboard: Dashboard) -> None:
    stranger = dashboard.stranger()
    assert stranger.get("/", **HTML).headers["location"] == "/join"
    answer = stranger.get("/run?run=12", **HTML)
    assert answer.status == 303
    assert answer.headers["location"] == "/join?next=%2Frun%3Frun%3D12"
    page = stranger.get(answer.headers["location"])
    assert 'value="/run?run=12"' in page.text
    let_in = stranger.post("/join", {"code": dashboard.code, "nickname": "Ada", "next": "/run?run=12"})
    assert (let_in.status, let_in.headers["location"]) == (303, "/run?run=12")
    assert stranger.get("/run?run=12", **HTML).status == 200


def test_an_address_of_any_bytes_leads_to_the_door() -> None:
    """Some parsers of HTTP let them through."""
    scope = {"path": "/run", "query_string": b"run=\xff\xfe"}
    assert auth_middleware._way_in(scope) == "/join?next=%2Frun%3Frun%3D%FF%FE"
    assert auth_middleware._way_in({"path": "/\udcff\ufffd", "query_string": b""}) == "/join?next=%2F%3F%EF%BF%BD"


@pytest.mark.parametrize("path", ["/artifact/1/original.png", "/_stcore/host-config", "/component/x"])
def test_without_a_cookie_there_is_nothing(dashboard: Dashboard, path: str) -> None:
    assert dashboard.stranger().get(path).status == 403


@pytest.mark.parametrize("path", ["/_stcore/stream", "/live/session/class", "/live/run/1"])
def test_websockets_are_guarded(dashboard: Dashboard, path: str) -> None:
    with pytest.raises(InvalidStatus) as refused, dashboard.stranger().listen(path):
        pass
    assert refused.value.response.status_code == 403
    with pytest.raises(InvalidStatus) as elsewhere, dashboard.learner().listen(path, origin="http://evil.example"):
        pass
    assert elsewhere.value.response.status_code == 403


def test_the_token_becomes_a_cookie_and_leaves_the_address(dashboard: Dashboard) -> None:
    visitor = dashboard.stranger()
    answer = visitor.get(f"/?token={dashboard.token}", **HTML)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    name, _, secret = visitor.cookie.partition("=")
    assert name == f"workshop_{dashboard.port}"
    identity = dashboard.store.identity(hashed(secret))
    assert identity is not None
    assert identity.role == "instructor"
    assert visitor.get("/", **HTML).status == 200


@pytest.mark.parametrize("other", ['prefs={"a": 1}', "a b=1", "=", "x", "a=b,c=[d]"])
def test_other_cookies_of_the_host_do_no_harm(dashboard: Dashboard, other: str) -> None:
    visitor = dashboard.learner()
    mine = visitor.cookie
    for visitor.cookie in (f"{other}; {mine}", f"{mine}; {other}"):
        assert visitor.get("/", **HTML).status == 200
    visitor.cookie = f"{other}; {mine}x"
    assert visitor.get("/", **HTML).status == 303


def test_a_wrong_token_is_told_so(dashboard: Dashboard) -> None:
    visitor = dashboard.stranger()
    answer = visitor.get("/?token=guess", **HTML)
    assert "set-cookie" not in answer.headers
    assert "not valid any more" in visitor.get(answer.headers["location"]).text


def test_a_forged_identity_header_is_dropped(dashboard: Dashboard) -> None:
    secret = dashboard.instructor().cookie.partition("=")[2]
    forged = {"x-workshop-identity": hashed(secret)}
    assert dashboard.stranger().get("/artifact/1/x", **forged).status == 403


@pytest.mark.parametrize(
    ("form", "status", "words"),
    [
        ({"code": "WRONG1", "nickname": "Ada"}, 403, "not this class"),
        ({"nickname": "Ada"}, 403, "not this class"),
        ({"code": "{code}", "nickname": "  "}, 400, "give a nickname"),
        ({"code": "{code}", "nickname": "x" * 31}, 400, "at most 30"),
        ({"code": "{code}", "nickname": " INstructor "}, 400, "take another one"),
        ({"code": "{code}", "nickname": "a\u202eb"}, 400, "can&#39;t be shown"),
        ({"code": "x" * 100_000, "nickname": "Ada"}, 413, "far too much"),
    ],
)
def test_the_door_says_what_is_wrong(dashboard: Dashboard, form: dict[str, str], status: int, words: str) -> None:
    given = {name: value.format(code=dashboard.code) for name, value in form.items()}
    visitor = dashboard.stranger()
    answer = visitor.post("/join", given)
    assert answer.status == status
    assert words in answer.text
    assert visitor.cookie == ""


def test_codes_may_be_typed_as_people_type(dashboard: Dashboard) -> None:
    typed = f" {dashboard.code[:3].lower()} {dashboard.code[3:]} "
    assert dashboard.stranger().post("/join", {"code": typed, "nickname": "Ada"}).status == 303


def test_nicknames_are_text_and_the_second_one_gets_a_number(dashboard: Dashboard) -> None:
    name = "<b>Bo</b>"
    dashboard.learner(name)
    second = dashboard.learner(name)
    page = second.get("/join").text
    assert "&lt;b&gt;Bo&lt;/b&gt; 2" in page
    assert "<b>Bo" not in page


def test_forms_of_other_sites_are_refused(dashboard: Dashboard) -> None:
    form = {"code": dashboard.code, "nickname": "Eve"}
    assert dashboard.stranger().post("/join", form, Origin="http://evil.example").status == 403
    assert dashboard.stranger().post("/join", form, Origin=f"http://127.0.0.1:{dashboard.port}").status == 303


def test_origins_and_ways_on_that_are_no_addresses(dashboard: Dashboard) -> None:
    form = {"code": dashboard.code, "nickname": "Ada", "next": "//["}
    assert dashboard.stranger().post("/join", form, Origin="http://[").status == 403
    with pytest.raises(InvalidStatus) as refused, dashboard.learner().listen("/live/run/1", origin="http://["):
        pass
    assert refused.value.response.status_code == 403
    assert 'name="next" value="/"' in dashboard.stranger().get("/join?next=//%5B").text
    assert dashboard.stranger().post("/join", form).headers["location"] == "/"


def test_a_form_may_bring_the_token(dashboard: Dashboard) -> None:
    visitor = dashboard.stranger()
    answer = visitor.post("/join", {"token": dashboard.token})
    assert (answer.status, answer.headers["location"]) == (303, "/")
    identity = dashboard.store.identity(hashed(visitor.cookie.partition("=")[2]))
    assert identity is not None and identity.role == "instructor"
    wrong = dashboard.stranger().post("/join", {"token": "guess"})
    assert wrong.headers["location"] == "/join?wrong=token" and "set-cookie" not in wrong.headers


def test_a_ticket_is_worth_one_visit_soon(dashboard: Dashboard) -> None:
    ticket = new_ticket(dashboard.store)
    visitor = dashboard.stranger()
    answer = visitor.get(f"/?ticket={ticket}", **HTML)
    assert (answer.status, answer.headers["location"]) == (303, "/session")
    identity = dashboard.store.identity(hashed(visitor.cookie.partition("=")[2]))
    assert identity is not None and identity.role == "instructor"
    again = dashboard.stranger().get(f"/?ticket={ticket}", **HTML)
    assert again.headers["location"] == "/join?wrong=ticket"
    assert "set-cookie" not in again.headers
    assert "open it again" in dashboard.stranger().get("/join?wrong=ticket").text

    dashboard.store.add_ticket(hashed("late"), time.time() - 1)
    assert dashboard.stranger().get("/?ticket=late", **HTML).headers["location"] == "/join?wrong=ticket"
    dashboard.store.add_ticket(hashed("soon"), time.time() + 30)  # late ones are forgotten
    assert dashboard.store.setting(f"ticket:{hashed('late')}") is None
    assert dashboard.stranger().get("/?ticket=", **HTML).headers["location"].startswith("/join")


def test_pages_tell_browsers_to_be_careful(dashboard: Dashboard) -> None:
    for path in ("/join", "/assets/join.css", "/assets/plotly.min.js"):
        headers = dashboard.stranger().get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"].endswith("frame-ancestors 'self'")
    assert "default-src 'none'" in dashboard.stranger().get("/join").headers["content-security-policy"]
    assert dashboard.stranger().get("/assets/../auth.py").status != 200


def test_the_door_links_only_to_itself(dashboard: Dashboard) -> None:
    assert set(re.findall(r'(?:href|src|action)="([^"]+)"', dashboard.stranger().get("/join").text)) == {
        "./",
        "assets/mark.svg",
        "assets/join.css",
        "join",
    }


@pytest.mark.parametrize(("proxy", "seen"), [("", "127.0.0.1"), ("127.0.0.1", "10.9.8.7"), ("10.0.0.1", "127.0.0.1")])
def test_only_a_known_proxy_tells_where_requests_come_from(proxy: str, seen: str) -> None:
    found = []

    async def app(scope: dict[str, Any], _receive: object, _send: object) -> None:
        found.append(limits.client_address(scope))

    served = reduce(lambda inner, each: each.cls(inner, *each.args, **each.kwargs), reversed(behind("", proxy)), app)
    headers = [(b"x-forwarded-for", b"10.9.8.7")]
    scope = {"type": "http", "headers": headers, "client": ("127.0.0.1", 1), "scheme": "http", "path": "/join"}
    scope |= {"asgi": {"version": "3.0"}, "method": "GET", "server": ("127.0.0.1", 1), "http_version": "1.1"}
    scope |= {"raw_path": b"/join", "query_string": b""}
    asyncio.run(served(scope, None, None))
    assert found == [seen]


def test_what_visitors_send_by_mistake_fills_no_log(dashboard: Dashboard) -> None:
    """Frames of the wrong kind, and requests that are given up half-way."""
    learner = dashboard.learner("Log")
    with learner.listen("/live/run/1") as line:
        line.recv(timeout=60)
        line.send(b"\x00\xff")
        line.send("and text")
        line.ping().wait(60)
    with socket.create_connection(("127.0.0.1", dashboard.port)) as half:
        half.sendall(b"POST /join HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\ncode=")
        time.sleep(0.3)
    assert learner.get("/", **HTML).status == 200
    assert "Traceback" not in Path(dashboard.store.database.where).with_name("dashboard.log").read_text()


def test_a_port_in_use_is_one_sentence(dashboard: Dashboard) -> None:
    command = [sys.executable, "-m", "workshop.web.server", "--port", str(dashboard.port)]
    second = subprocess.run(command, capture_output=True, text=True, timeout=limit(60), check=False)
    assert second.returncode == 2
    assert "in use" in second.stderr
    assert "Traceback" not in second.stderr
    assert second.stdout == ""


def test_commands_know_where_the_dashboard_listens(dashboard: Dashboard) -> None:
    assert address.page(dashboard.store, 12) == f"http://127.0.0.1:{dashboard.port}/run?run=12"


@pytest.mark.parametrize("left", ["", "http://127.0.0.1:9", "nonsense"])
def test_a_dashboard_that_does_not_answer_is_none(store: Store, left: str) -> None:
    assert address.page(store, 12) is None
    store.set_setting(address.KEY, left)
    assert address.dashboard(store) is None
