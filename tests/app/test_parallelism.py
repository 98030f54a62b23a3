"""The page Parallelism: a plan for each choice, a refusal in words, and large networks."""

from __future__ import annotations

import pytest

from tests.app.conftest import Open, figures
from tests.app.test_studies import plain
from tests.workloads.parallel.test_panels import ended
from workshop.report.failures import failures_of
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.web.pages import frame


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


def test_a_run_is_compared_with_its_plan(open_page: Open, store: Store, session: SessionRecord) -> None:
    page = open_page("parallelism")
    page.selectbox[1].select("pipeline:2").run()
    assert "by formula" not in plain(page)
    run = ended(store, session, {"cut": "pipeline:2", "micro_batches": 4})
    page.run()
    for title in ("The pipeline", "What a step exchanges", "Memory of each rank"):
        assert f"{title}, by formula" in plain(page) and f"{title}, measured" in plain(page)
    links = [link.proto.label for link in page.get("page_link")]
    assert f"Run {run.id} · completed" in links and "Show the pipeline on the projector" in links
    screen = open_page("parallelism", "instructor", projector="1", run=str(run.id))
    assert len(figures(screen)) == 1 and not screen.button


@pytest.mark.real
def test_guided_failures_are_run_from_the_page(open_page: Open, store: Store, session: SessionRecord) -> None:
    page = open_page("parallelism")
    failures = failures_of("parallel")
    assert len(failures) == 4 and {frame.plain(failure.title) for failure in failures} <= {
        each.label for each in page.expander
    }
    page.button(key="failure/missing-halo-look").click().run()
    page.button(key="missing-halo-broken").click().run()
    assert not page.exception
    (run,) = store.runs()
    assert run.params["fault"] == "no-halo" and run.placement["ranks"] == 2
