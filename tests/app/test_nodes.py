"""The pages of guided studies over hosts and of one processor: what they need, and that each step asks first."""

from __future__ import annotations

import pytest

from tests.app.conftest import Open
from tests.app.test_pages import labels
from tests.app.test_studies import plain
from tests.web import seed
from workshop.cli.emulation import hosts
from workshop.store.store import Store
from workshop.study import runner
from workshop.study.guided.plan import Guide, plan
from workshop.workloads.processor.study.facts import GUIDE as PROCESSOR
from workshop.workloads.sgan.nodes.facts import GUIDE


def test_a_session_on_one_host_is_refused(open_page: Open, store: Store) -> None:
    with seed.alive(store, "class"):
        page = open_page("nodes", "instructor")
        assert "workshop demo hosts --hosts 4 --link 25mbit" in plain(page)
        assert "Prepare it" not in labels(page)


@pytest.mark.parametrize(("page_name", "guide"), [("nodes", GUIDE), ("processor", PROCESSOR)])
def test_every_step_asks_before_it_is_run(open_page: Open, store: Store, page_name: str, guide: Guide) -> None:
    study = runner.begin(store, plan(guide, {}, 2, steps="", hosts=hosts.names(guide.hosts)))
    for step in guide.steps:
        page = open_page(page_name, "instructor", study=str(study.id), step=step.key)
        asked = [field.label for field in (*page.number_input, *page.radio)]
        assert step.title in plain(page) and any(label.startswith(step.question) for label in asked)
        assert "What comes out stays hidden until you have guessed" in plain(page)
