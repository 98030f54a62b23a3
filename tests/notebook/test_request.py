"""The command line's words of advice, as a notebook would write them."""

from __future__ import annotations

import pytest

from workshop.notebook.request import in_python


@pytest.mark.parametrize(
    ("advice", "written"),
    [
        ("Turn it on (--broadcast yes), and compare.", "Turn it on (broadcast=True), and compare."),
        ("Bind (--map-by core --bind-to core).", "Bind (map_by='core', bind_to='core')."),
        ("Say so (--env A=1 --env B=2).", "Say so (environment={'A': '1', 'B': '2'})."),
        ("Both (--measured, --hosts 127.0.0.1).", "Both (measured=True, hosts='127.0.0.1')."),
        ("Nothing (in parentheses) -- to see.", "Nothing (in parentheses) -- to see."),
    ],
)
def test_advice_is_in_the_language_of_the_notebook(advice: str, written: str) -> None:
    assert in_python(advice) == written
