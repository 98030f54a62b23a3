"""The page of the guided study over hosts: without hosts it says how to have some, with hosts each step asks."""

from __future__ import annotations

from tests.app.conftest import Open
from tests.app.test_pages import labels
from tests.app.test_studies import plain
from tests.web import seed
from workshop.cli.emulation import hosts
from workshop.store.store import Store
from workshop.study import runner
from workshop.study.guided.plan import plan
from workshop.workloads.sgan.nodes.facts import GUIDE


def test_a_session_on_one_host_is_refused(open_page: Open, store: Store) -> None:
    with seed.alive(store, "class"):
        page = open_page("nodes", "instructor")
        assert "workshop demo hosts --hosts 4 --link 25mbit" in plain(page)
        assert "Prepare it" not in labels(page)


def test_every_step_asks_before_it_is_run(open_page: Open, store: Store) -> None:
    study = runner.begin(store, plan(GUIDE, {}, 2, steps="", hosts=hosts.names(GUIDE.hosts)))
    for step in GUIDE.steps:
        page = open_page("nodes", "instructor", study=str(study.id), step=step.key)
        assert step.title in plain(page) and page.number_input[0].label.startswith(step.question)
        assert "What comes out stays hidden until you have guessed" in plain(page)
