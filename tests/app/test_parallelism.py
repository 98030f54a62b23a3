"""The page Parallelism: a plan for each choice, a refusal in words, and large networks."""

from __future__ import annotations

from tests.app.conftest import Open
from tests.app.test_studies import plain


def test_a_plan_follows_the_choice(open_page: Open) -> None:
    page = open_page("parallelism")
    assert "Who has what" in plain(page) and "The pipeline" not in plain(page)
    page.selectbox[1].select("pipeline:2").run()
    assert "The pipeline" in plain(page) and "block0.attention" in plain(page)
    page.selectbox[1].select("spatial:2").run()
    assert "can be cut by spatial" in " ".join(error.value for error in page.error)


def test_large_networks_are_planned_on_request(open_page: Open) -> None:
    page = open_page("parallelism")
    assert "GPT-2" not in plain(page)
    page.toggle[-1].set_value(True).run(timeout=120)
    assert "GPT-2, largest" in plain(page) and "ZeRO 3: 64 devices" in plain(page)
