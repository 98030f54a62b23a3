"""What is taken out of the header of cookies, and what no parser gets to see."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import cookie_parser

from workshop.core.errors import BadInput
from workshop.web import auth_middleware

NAMES = ("workshop_8501", auth_middleware.STREAMLIT_COOKIE)
SLOW = b'="' + b"\\a" * 3000 + b'"'  # what un-quoting takes time for, by the square of its length


def test_only_plain_cookies_of_ours_are_kept() -> None:
    xsrf = "2|0a1b2c3d|00112233445566778899aabbccddeeff|1732000000"
    line = f"prefs={{}}; a b=1; workshop_8501=Ab-_9 ; x; =; _streamlit_xsrf={xsrf};workshop_8502=other"
    found = auth_middleware.read_cookies([(b"Cookie", line.encode()), (b"accept", b"workshop_8501=no")], NAMES)
    assert found == {"workshop_8501": "Ab-_9", auth_middleware.STREAMLIT_COOKIE: xsrf}
    assert auth_middleware.replaced_cookies([(b"COOKIE", b"x"), (b"host", b"here"), (b"cookie", b"y")], found) == [
        (b"host", b"here"),
        (b"cookie", f"workshop_8501=Ab-_9; _streamlit_xsrf={xsrf}".encode()),
    ]
    assert auth_middleware.replaced_cookies([(b"cookie", b"x=1")], {}) == []


@pytest.mark.parametrize("name", [b"x", b"workshop_8501", auth_middleware.STREAMLIT_COOKIE.encode()])
def test_what_is_slow_to_read_reaches_nobody(name: bytes) -> None:
    assert auth_middleware.read_cookies([(b"cookie", name + SLOW)], NAMES) == {}


def test_too_many_bytes_are_refused() -> None:
    for lines in ([b"x" * 8193], [b"x" * 5000, b"y" * 5000]):
        with pytest.raises(BadInput, match=r"^The cookies have [\d,]+ bytes; at most 8,192 are read\. .*\.$"):
            auth_middleware.read_cookies([(b"cookie", line) for line in lines], NAMES)
    assert auth_middleware.read_cookies([(b"cookie", b"x" * 8000 + b"; workshop_8501=a")], NAMES) == {
        "workshop_8501": "a"
    }


_LINES = st.text(alphabet='workshop_8501=;|" \\a,', max_size=60) | st.binary(max_size=60).map(
    lambda b: b.decode("latin-1")
)


@given(st.lists(_LINES, max_size=4))
def test_parsers_read_what_was_kept(lines: list[str]) -> None:
    found = auth_middleware.read_cookies([(b"cookie", line.encode("latin-1")) for line in lines], NAMES)
    kept = auth_middleware.replaced_cookies([], found)
    assert cookie_parser(kept[0][1].decode() if kept else "") == found
    assert all(
        set(value) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_|-")
        for value in found.values()
    )


def test_streamlits_cookie_has_this_name() -> None:
    from streamlit.web.server.starlette.starlette_server_config import XSRF_COOKIE_NAME

    assert XSRF_COOKIE_NAME == auth_middleware.STREAMLIT_COOKIE
