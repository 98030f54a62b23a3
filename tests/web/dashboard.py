"""A dashboard as a process of its own, and a client that keeps its cookie."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode, urljoin

import psutil
from websockets.sync.client import ClientConnection, connect

from tests.support import limit
from workshop.store.records import Identity
from workshop.store.store import Store
from workshop.web.auth import hashed, new_secrets

HTML = {"Accept": "text/html"}


@dataclass
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass
class Visitor:
    """A browser's worth of HTTP."""

    port: int
    cookie: str = ""

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, None, headers)

    def post(self, path: str, form: Mapping[str, str] | None = None, **headers: str) -> Answer:
        given = {"Content-Type": "application/x-www-form-urlencoded", **headers}
        return self.ask("POST", path, urlencode(form or {}), given)

    def ask(self, method: str, path: str, body: str | None, headers: Mapping[str, str]) -> Answer:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=limit(60))
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        line.request(method, path, body, {"Cookie": self.cookie, **named} if self.cookie else named)
        answer = line.getresponse()
        got = Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        line.close()
        if "location" in got.headers:  # relative, as a browser reads it
            got = replace(got, headers={**got.headers, "location": urljoin(path, got.headers["location"])})
        if "set-cookie" in got.headers:
            self.cookie = got.headers["set-cookie"].partition(";")[0]
        return got

    def listen(self, path: str, origin: str | None = None) -> AbstractContextManager[ClientConnection]:
        """A WebSocket; by default with the origin that a browser would tell."""
        headers = {"Cookie": self.cookie} if self.cookie else {}
        here = f"127.0.0.1:{self.port}"
        return connect(f"ws://{here}{path}", additional_headers=headers, origin=origin or f"http://{here}")


@dataclass
class Dashboard:
    store: Store
    process: psutil.Process
    port: int
    token: str = ""
    code: str = ""

    def __post_init__(self) -> None:
        self.token, self.code = new_secrets(self.store)

    def stranger(self) -> Visitor:
        return Visitor(self.port)

    def instructor(self) -> Visitor:
        visitor = self.stranger()
        assert visitor.get(f"/?token={self.token}").status == 303
        return visitor

    def learner(self, nickname: str = "Ada") -> Visitor:
        visitor = self.stranger()
        assert visitor.post("/join", {"code": self.code, "nickname": nickname}).status == 303
        return visitor


def identity(dashboard: Dashboard, visitor: Visitor) -> Identity | None:
    """Whom the dashboard takes a visitor for, by the cookie."""
    return dashboard.store.identity(hashed(visitor.cookie.partition("=")[2]))


def sections(line: ClientConnection) -> dict[str, Any]:
    """The next message of a live page."""
    return json.loads(line.recv(timeout=limit(60)))["sections"]
