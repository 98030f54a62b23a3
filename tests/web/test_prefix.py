"""Requests below a prefix, as a proxy passes them on; tests/browser/test_prefix.py has a real one."""

from __future__ import annotations

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route, Router
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from workshop.core.errors import BadInput
from workshop.web.prefix import base, behind, checked, root

PREFIX = "/node/n1/8501"


def answer(request: Request) -> Response:
    return JSONResponse({"path": request.url.path, "root": root(), "base": base(request)})


def client(prefix: str = PREFIX, proxy: str = "", peer: str = "127.0.0.1") -> TestClient:
    routes = [
        Route("/", answer),
        Route("/run", answer),
        Route("/quiz/{id}/results", answer),
        Route("/out", lambda _: RedirectResponse("/join?next=/run")),
        Route("/out/far", lambda _: RedirectResponse("/")),
        Route("/away", lambda _: RedirectResponse("//example.org/")),
    ]
    app: ASGIApp = Router(routes)
    for each in reversed(behind(prefix, proxy)):
        app = each.cls(app, *each.args, **each.kwargs)
    return TestClient(app, "http://host", client=(peer, 1), follow_redirects=False)


@pytest.mark.parametrize("passes", [True, False], ids=["passes it", "strips it"])
@pytest.mark.parametrize(("path", "up"), [("/", "./"), ("/run", "./"), ("/quiz/5/results", "../../")])
def test_routes_see_no_prefix_and_pages_lead_up_to_it(passes: bool, path: str, up: str) -> None:
    told = client().get(f"{PREFIX if passes else ''}{path}").json()
    assert told == {"path": path, "root": up, "base": f"http://host{PREFIX}"}


def test_redirects_are_relative() -> None:
    assert client().get(f"{PREFIX}/out").headers["location"] == "./join?next=/run"
    assert client().get(f"{PREFIX}/out/far").headers["location"] == "../"
    assert client("").get("/out").headers["location"] == "./join?next=/run"
    assert client().get(f"{PREFIX}/away").headers["location"] == "//example.org/", "not ours"


def test_a_prefix_without_its_last_slash_gets_one() -> None:
    answered = client().get(f"{PREFIX}?token=x")
    assert (answered.status_code, answered.headers["location"]) == (307, "8501/?token=x")


def test_a_path_that_only_begins_alike_is_not_below_it() -> None:
    assert client().get(f"{PREFIX}0/run").status_code == 404


@pytest.mark.parametrize(
    ("proxy", "peer", "header", "expected"),
    [
        ("127.0.0.1", "127.0.0.1", "/user/ada/proxy/8501/", "/user/ada/proxy/8501"),
        ("127.0.0.1", "10.0.0.9", "/user/ada", PREFIX),
        ("", "127.0.0.1", "/user/ada", PREFIX),
        ("127.0.0.1", "127.0.0.1", "", PREFIX),
        ("127.0.0.1", "127.0.0.1", "/a/../b", PREFIX),
        ("127.0.0.1", "127.0.0.1", "https://example.org", PREFIX),
    ],
)
def test_only_the_proxy_tells_another_prefix(proxy: str, peer: str, header: str, expected: str) -> None:
    told = client(proxy=proxy, peer=peer).get("/run", headers={"x-forwarded-prefix": header}).json()
    assert told["base"] == f"http://host{expected}"


@pytest.mark.parametrize(
    ("peer", "header", "expected"),
    [
        ("127.0.0.1", "lab.example.org", "lab.example.org"),
        ("127.0.0.1", "evil.example, lab.example.org", "lab.example.org"),
        ("127.0.0.1", "", "host"),
        ("10.0.0.9", "evil.example", "host"),
    ],
)
def test_only_the_proxy_tells_another_host(peer: str, header: str, expected: str) -> None:
    told = client(proxy="127.0.0.1", peer=peer).get("/run", headers={"x-forwarded-host": header}).json()
    assert told["base"] == f"http://{expected}{PREFIX}"


@pytest.mark.parametrize("text", ["node/n1", "//host/x", "/a b", "/a/../b", "/a?b", "https://h/x", "/a\n"])
def test_what_is_no_prefix(text: str) -> None:
    with pytest.raises(BadInput, match="it should be a path like /node/n1/8501"):
        checked(text)


@pytest.mark.parametrize(("text", "expected"), [("", ""), ("/", ""), ("/a/", "/a"), ("/user/x@y.z/proxy/1", None)])
def test_what_is(text: str, expected: str | None) -> None:
    assert checked(text) == (text if expected is None else expected)
