"""Templates of pages: whatever visitors type is text there, and a value that is missing is an error."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from workshop.web.templates import render


def test_values_are_text() -> None:
    page = render("plain", title="<b>", words="'&<script>")
    assert "<title>&lt;b&gt;</title>" in page and "<p>&#39;&amp;&lt;script&gt;</p>" in page
    assert (
        render("dashboard/redirect", address="/</script>")
        == '<script>location.assign("/\\u003c/script\\u003e")</script>'
    )


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="words"):
        render("plain", title="Results")
