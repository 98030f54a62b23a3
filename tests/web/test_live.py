"""Live pages, artifacts and cancelling, over a real server."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Router

from tests.support import until
from tests.web import seed, training
from tests.web.dashboard import Dashboard, sections
from workshop.core import config
from workshop.report.run_sections import MOMENTS
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.web import live
from workshop.web.auth import hashed


@pytest.fixture
def session(dashboard: Dashboard) -> Iterator[SessionRecord]:
    with seed.alive(dashboard.store, f"class-{time.monotonic_ns() % 10**9}") as made:
        yield made


def cards(section: dict[str, Any]) -> list[str]:
    return re.findall('data-card="(.*?)"', section["html"])


def test_a_live_run_is_pushed(dashboard: Dashboard, session: SessionRecord) -> None:
    run = seed.running(dashboard.store, session, steps=5)
    with dashboard.learner().listen(f"/live/run/{run.id}") as line:
        first = sections(line)
        assert first["run"]["status"] == "running"
        assert first["run"]["progress"] == [5.0, 20.0]
        assert cards(first["curves"]) == ["inertia", "times"]
        inertia, times = first["curves"]["figures"]
        assert len(inertia["data"][0]["y"]) == 5
        assert [bar["name"] for bar in times["data"]] == ["compute", "communicate", "wait"]
        assert first["machine"]["html"].count("<tr>") == 3
        assert '<p class="ws-label">So far</p>' in first["verdict"]["html"]
        assert set(first["panels"]) <= first.keys(), "each panel has told whether it has something to show"

        seed.tell(dashboard.store, run.id, 6, 7)
        news = sections(line)
        while "curves" not in news:
            news |= sections(line)
        assert len(news["curves"]["figures"][0]["data"][0]["y"]) == 7
        assert not {"machine", "panels", "files"} & news.keys(), "what has not changed isn't sent again"

        dashboard.store.put_artifact(run.id, "preview.png", "image/png", seed.png())
        while "preview.png" not in news.get("photo", {}).get("html", ""):
            news |= sections(line)
        assert 'alt="So far"' in news["photo"]["html"]
        dashboard.store.finish(run.id, "completed", metrics={"inertia": float("nan"), "palette": seed.PALETTE})
        while not news.get("run", {}).get("ended") or not news.get("metrics", {}).get("html"):
            news |= sections(line)
        assert "<dt>inertia</dt><dd>not a number</dd>" in news["metrics"]["html"]
        assert len(news["photo"]["figures"][0]["data"]) == 4


def test_an_ended_run_is_replayed(dashboard: Dashboard, session: SessionRecord) -> None:
    run, ada = training.completed(dashboard.store, session), dashboard.learner("Ada")

    def moment(number: int | str, run_id: int = run.id) -> Any:
        return ada.get(f"/live/run/{run_id}/moment/{number}")

    start, end = moment(0), moment(MOMENTS)
    assert (start.status, end.status) == (200, 200)
    assert json.loads(start.body).keys() == json.loads(end.body).keys() >= {"stream", "curves"}
    assert {moment(number).status for number in (MOMENTS + 1, -1, "nan", "1e9")} == {404}
    dashboard.store.update_session(session.id, state="ready")
    going_on = seed.running(dashboard.store, session)
    refused = f"Run {going_on.id} has no moment 0; runs that have ended have the moments 0 to {MOMENTS}."
    assert moment(0, going_on.id).text == refused
    assert moment(0, 10**9).status == 404


def test_everybody_sees_the_same(dashboard: Dashboard, session: SessionRecord) -> None:
    run = seed.completed(dashboard.store, session)
    ada, bo = dashboard.learner("Ada"), dashboard.learner("Bo")
    with ada.listen(f"/live/run/{run.id}") as one, bo.listen(f"/live/run/{run.id}") as other:
        assert sections(one) == sections(other)


def test_a_session_is_pushed(dashboard: Dashboard, session: SessionRecord) -> None:
    store = dashboard.store
    seed.completed(store, session)
    with dashboard.learner().listen(f"/live/session/{session.name}") as line:
        first = sections(line)
        assert first["session"]["words"] == "Ready: the next run starts at once."
        assert first["queue"]["waiting"] == []
        assert first["queue"]["recent"][0]["verdict"] == "Well balanced."
        assert re.findall('class="ws-rank">.*?</span>(.*?)</span>', first["machine"]["html"]) == ["rank 0", "rank 1"]
        store.submit(session.id, "kmeans", seed.PARAMS, seed.PLACEMENT, submitted_by="<i>Eve</i>")
        news = sections(line)
        while "queue" not in news:
            news |= sections(line)
        assert news["queue"]["waiting"][0]["who"] == "<i>Eve</i>"
        assert news["queue"]["waiting"][0]["wait"] == "in a few seconds"


def test_a_queued_run_knows_its_turn(dashboard: Dashboard, session: SessionRecord) -> None:
    seed.running(dashboard.store, session)
    queued = dashboard.store.submit(session.id, "kmeans", seed.PARAMS, seed.PLACEMENT)
    with dashboard.learner().listen(f"/live/run/{queued.id}") as line:
        assert sections(line)["run"]["turn"].startswith("Number 1 in the queue")


def test_what_is_not_there_is_told(dashboard: Dashboard) -> None:
    with dashboard.learner().listen("/live/run/999999") as line:
        assert sections(line)["problem"].startswith("There is no run 999999")
    with dashboard.learner().listen("/live/session/nobodys") as line:
        assert sections(line)["problem"].startswith("There is no session 'nobodys'")


@pytest.mark.parametrize("number", [2**31, 10**17])
def test_numbers_that_no_run_can_have(dashboard: Dashboard, number: int) -> None:
    visitor = dashboard.learner()
    with visitor.listen(f"/live/run/{number}") as line:
        assert sections(line)["problem"].startswith(f"There is no run {number}")
    assert visitor.post(f"/run/{number}/cancel").status == 400
    assert visitor.get(f"/artifact/{number}/nothing").status == 404


def test_only_what_is_there_is_polled(workshop_home: Path) -> None:
    async def pollers(app: Router, path: str) -> list[str]:
        """The pollers that there are when a viewer of `path` has got its first message."""
        received: asyncio.Queue[Any] = asyncio.Queue()
        sent: asyncio.Queue[Any] = asyncio.Queue()
        received.put_nowait({"type": "websocket.connect"})
        viewer = asyncio.create_task(app({"type": "websocket", "path": path, "headers": []}, received.get, sent.put))
        assert [(await sent.get())["type"] for _ in range(2)] == ["websocket.accept", "websocket.send"]
        names = [task.get_name() for task in asyncio.all_tasks()]
        received.put_nowait({"type": "websocket.disconnect", "code": 1000})
        await viewer
        return [name for name in names if name.startswith("poll")]

    async def visits(app: Router) -> list[int]:
        paths = ("/live/session/there", "/live/session/nobodys", "/live/run/7", f"/live/run/{10**30}")
        return [len(await pollers(app, path)) for path in paths]

    with Store.open() as store:
        store.create_session("there", seed.PLACEMENT)
        assert asyncio.run(visits(Router(live.routes(store)))) == [1, 0, 0, 0]


def test_artifacts(dashboard: Dashboard, session: SessionRecord) -> None:
    run = seed.completed(dashboard.store, session)
    store, visitor = dashboard.store, dashboard.learner()
    sha = store.artifact(run.id, "quantised.png").sha256
    picture = visitor.get(f"/artifact/{run.id}/quantised.png?v={sha[:16]}")
    assert picture.status == 200
    assert picture.body == seed.png("#405060")
    assert picture.headers["content-type"] == "image/png"
    assert "immutable" in picture.headers["cache-control"]

    # An address without a version always gives the present content.
    store.put_artifact(run.id, "quantised.png", "image/png", seed.png("#999999"))
    assert visitor.get(f"/artifact/{run.id}/quantised.png").body == seed.png("#999999")
    assert "no-cache" in visitor.get(f"/artifact/{run.id}/quantised.png").headers["cache-control"]

    store.put_artifact(run.id, "page.html", "text/html", b"<script>alert(1)</script>")
    page = visitor.get(f"/artifact/{run.id}/page.html")
    assert page.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in page.headers["content-security-policy"]
    store.put_artifact(run.id, "input/photo", "application/octet-stream", b"\xff\xd8\xff rest")
    assert visitor.get(f"/artifact/{run.id}/input/photo").headers["content-type"] == "image/jpeg"
    assert visitor.get(f"/artifact/{run.id}/nothing").status == 404
    assert visitor.get("/artifact/999999/nothing").status == 404


def test_a_file_to_download_has_its_name(dashboard: Dashboard, session: SessionRecord) -> None:
    run = training.completed(dashboard.store, session)
    visitor = dashboard.learner()
    trace = visitor.get(f"/artifact/{run.id}/timeline.json?download")
    assert trace.headers["content-disposition"] == "attachment; filename*=UTF-8''timeline.json"
    assert "content-disposition" not in visitor.get(f"/artifact/{run.id}/timeline.json").headers


def test_learners_cancel_their_own_runs_the_instructor_any(dashboard: Dashboard, session: SessionRecord) -> None:
    store = dashboard.store
    ada, bo = dashboard.learner("Ada"), dashboard.learner("Bo")
    identity = store.identity(hashed(ada.cookie.partition("=")[2]))
    assert identity is not None
    run = seed.running(store, session, identity)
    queued = store.submit(session.id, "kmeans", seed.PARAMS, seed.PLACEMENT, identity_id=identity.id)
    refused = bo.post(f"/run/{run.id}/cancel")
    assert refused.status == 400
    assert "your own runs" in refused.text
    assert not store.run(run.id).cancel_requested
    assert ada.post(f"/run/{run.id}/cancel").status == 200
    assert store.run(run.id).cancel_requested
    assert dashboard.instructor().post(f"/run/{queued.id}/cancel").status == 200
    assert store.run(queued.id).status == "cancelled"
    assert ada.post("/run/999999/cancel").status == 400


def test_it_ends_soon_with_viewers_on_the_line(dashboard: Dashboard, session: SessionRecord) -> None:
    # The last test of this module: there is no dashboard afterwards.
    run = seed.running(dashboard.store, session)
    learner = dashboard.learner()
    with learner.listen(f"/live/run/{run.id}") as line, learner.listen("/_stcore/stream"):
        sections(line)
        dashboard.process.send_signal(signal.SIGTERM)
        until(lambda: dashboard.process.status() == "zombie", 60, "the dashboard to end while viewers stay")
    log = (config.home() / "dashboard.log").read_text()
    assert dashboard.token not in log
    assert learner.cookie.partition("=")[2] not in log
