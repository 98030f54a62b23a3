"""Codes: a right one lets in whatever came before it, and only wrong ones are limited."""

from __future__ import annotations

import pytest
from limits import RateLimitItemPerHour
from starlette.routing import Route

from tests.web.dashboard import Visitor
from tests.web.serving import served
from workshop.store.store import Store
from workshop.web import limits
from workshop.web.auth import new_secrets
from workshop.web.auth_middleware import cookie_name
from workshop.web.code_form import Join


def test_a_right_code_lets_in_behind_wrong_ones(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WRONG_CODES", RateLimitItemPerHour(3, namespace="test"))
    limits.WINDOWS.storage.reset()
    _, code = new_secrets(store)

    def guess(visitor: Visitor, text: str) -> int:
        return visitor.post("/join", {"code": text, "nickname": "Ada"}).status

    with served(store, lambda port: [Route("/join", Join(store, cookie_name(port)).respond, methods=["POST"])]) as port:
        assert [guess(Visitor(port), "AAAAAA") for _ in range(5)] == [403] * 3 + [429] * 2
        ada = Visitor(port)
        assert guess(ada, code) == 303
        assert guess(ada, "AAAAAA") == 403, "a member doesn't count for the address"
    limits.WINDOWS.storage.reset()
