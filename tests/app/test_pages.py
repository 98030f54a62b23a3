"""What pages show to whom, and what their forms do."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from tests.app.conftest import Open, figures
from tests.web import seed
from tests.workloads.allreduce.test_panels import SECONDS
from tests.workloads.allreduce.test_panels import begun as measured
from workshop.core.errors import BadInput
from workshop.mpi import horovod
from workshop.mpi.horovod import Build
from workshop.report.run_sections import SessionLook
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.web import actions, auth
from workshop.web.pages import frame


def words(page: AppTest) -> str:
    parts = [*page.markdown, *page.caption, *page.error, *page.info, *page.warning, *page.header, *page.subheader]
    return "\n".join([*(part.value for part in parts), *cards(page)])


def cards(page: AppTest) -> list[str]:
    """The words of HTML; what could be markup stays escaped."""
    bodies = [part.proto.body for part in page.get("html") if not part.proto.body.startswith(("<style", "<script"))]
    return [unescape(re.sub("<[^>]*>", " ", body).replace("&lt;", "&amp;lt;")) for body in bodies]


def labels(page: AppTest) -> list[str]:
    return [button.label for button in page.button]


@pytest.mark.parametrize("name", ["home", "session", "run", "history"])
@pytest.mark.parametrize("role", ["learner", "instructor"])
def test_every_page_stands_on_an_empty_store(open_page: Open, name: str, role: str) -> None:
    assert role.capitalize() in words(open_page(name, role))


@pytest.mark.parametrize("name", ["home", "session", "run", "history"])
def test_every_page_stands_on_a_full_one(open_page: Open, store: Store, session: SessionRecord, name: str) -> None:
    seed.completed(store, session)
    seed.failed(store, session, "no <b>luck</b>")
    seed.running(store, session)
    open_page(name)


def test_only_the_instructor_has_the_controls(open_page: Open, store: Store, session: SessionRecord) -> None:
    assert {"Reset it", "Stop it", "Launch"} <= set(labels(open_page("session", "instructor")))
    assert not {"Reset it", "Stop it", "Launch"} & set(labels(open_page("session", "learner")))


@pytest.mark.parametrize("name", ["session", "run"])
def test_the_instructor_starts_a_stopped_session_again(open_page: Open, store: Store, name: str) -> None:
    with seed.alive(store, "class") as session:
        pass
    store.update_session(session.id, state="stopped")
    page = open_page(name, "instructor")
    button = next(button for button in page.button if button.key == "start-again")
    assert button.label == "Start class again"
    assert "start-again" not in {button.key for button in open_page(name, "learner").button}


def test_the_instructor_resets_and_sets_limits(open_page: Open, store: Store, session: SessionRecord) -> None:
    page = open_page("session", "instructor")
    assert any("cancels the run" in text.value for text in page.markdown), "it asks first, and says what it cancels"
    next(button for button in page.button if button.label == "Reset it").click().run()
    assert store.session("class").reset_requested
    fields = {field.label: field for field in page.number_input if "limits" in str(field.form_id)}
    fields["Ranks"].set_value(2)
    fields["Unfinished runs of all learners"].set_value(500)
    next(button for button in page.button if button.label == "Set").click().run()
    assert not page.exception
    assert store.session("class").limits == replace(session.limits, ranks=2, total=500)


@pytest.mark.real
def test_a_launch_that_can_t_be_says_why(open_page: Open, session: SessionRecord) -> None:
    page = open_page("session", "instructor")
    next(field for field in page.text_input if field.label == "Name").set_value("No Name!").run()
    next(button for button in page.button if button.label == "Launch").click().run()
    assert "can't be a session's name" in page.error[0].value.replace("\\", "")


def test_once_the_session_is_stopped_every_page_says_what_one_can_do(
    open_page: Open, store: Store, session: SessionRecord
) -> None:
    page = open_page("run")
    assert not start(page).disabled
    store.update_session(session.id, state="stopped")
    page.run()
    assert start(page).disabled
    for name in ("run", "home", "placement"):
        page = open_page(name)
        said = words(page).replace("\\", "")
        assert "Session class is stopped, so nothing can run now" in said and "page Quiz" in said, name
        assert "workshop session" not in said, name
    queue = json.loads(SessionLook(store, "class")()["queue"])["empty"]
    assert "so nothing can run now" in queue and "page Quiz" in queue
    with pytest.raises(BadInput, match="so nothing can run now") as refused:
        actions.submit(store, auth.let_in(store, "learner", "Ada")[0], store.session("class"), "kmeans", {}, {})
    assert "workshop session" not in str(refused.value), "learners have no command line"


def start(page: AppTest) -> Button:
    return next(button for button in page.button if button.label == "Start the run")


@pytest.mark.real
def test_the_form_starts_a_run(open_page: Open, store: Store, session: SessionRecord) -> None:
    page = open_page("run")
    page.number_input(key="params-kmeans-clusters").set_value(5)
    page.number_input(key="placement-ranks").set_value(1)
    page.run()
    next(button for button in page.button if button.label == "Start the run").click().run()
    assert not page.exception
    (run,) = store.runs()
    assert (run.params["clusters"], run.params["image"], run.params["pace"]) == (5, "china", 0.3)
    assert run.placement["ranks"] == 1
    assert run.submitted_by == "Learner"
    assert page.query_params["run"] == str(run.id)


def test_settings_appear_where_they_apply(open_page: Open, session: SessionRecord) -> None:
    page = open_page("run")

    def shown() -> set[str]:
        numbers = {number.key for number in page.number_input}
        return {key.removeprefix("params-kmeans-") for key in numbers if key.startswith("params-")}

    assert "points" not in shown()
    assert "iterations" in shown()
    page.segmented_control(key="params-kmeans-data").set_value("blobs").run()
    assert "points" in shown()
    page.segmented_control(key="params-kmeans-mode").set_value("online").run()
    assert "batch" in shown()
    assert "iterations" not in shown()


def test_the_form_begins_with_the_run_that_is_shown(open_page: Open, store: Store, session: SessionRecord) -> None:
    run = seed.completed(store, session)
    page = open_page("run", run=str(run.id))
    assert page.number_input(key="params-kmeans-clusters").value == 4
    assert page.number_input(key="params-kmeans-iterations").value == 20


@pytest.mark.parametrize("given", ["999", "x", "-1", "1e9", "<b>", pytest.param("9" * 5000, id="long")])
def test_a_run_that_is_not_there(open_page: Open, session: SessionRecord, given: str) -> None:
    assert "There is no run" in words(open_page("run", run=given))


def test_what_is_wrong_is_one_sentence_and_nothing_is_queued(
    open_page: Open, store: Store, session: SessionRecord
) -> None:
    page = open_page("run")
    page.segmented_control(key="params-kmeans-data").set_value("blobs").run()
    page.number_input(key="params-kmeans-points").set_value(3).run()
    next(button for button in page.button if button.label == "Start the run").click().run()
    assert "16 clusters need as many points" in page.error[0].value.replace("\\", "")
    page.text_area(key="placement-environment").set_value("no equals sign").run()
    assert "NAME=value" in page.error[0].value.replace("\\", "")
    assert store.runs() == []


@pytest.mark.real
def test_an_upload_has_to_be_chosen(open_page: Open, store: Store, session: SessionRecord) -> None:
    page = open_page("run")
    page.segmented_control(key="params-kmeans-image").set_value("upload").run()
    next(button for button in page.button if button.label == "Start the run").click().run()
    assert "choose a file" in page.error[0].value
    page.file_uploader(key="params-kmeans-image-file").set_value(("me.png", seed.png(size=16), "image/png")).run()
    page.number_input(key="params-kmeans-clusters").set_value(1).run()
    next(button for button in page.button if button.label == "Start the run").click().run()
    (run,) = store.runs()
    assert run.params["image"] == "me.png"
    assert store.artifact(run.id, "input/photo").data == seed.png(size=16)


def test_a_link_compares_two_runs(open_page: Open, store: Store, session: SessionRecord) -> None:
    first = seed.completed(store, session)
    second = seed.failed(store, session, "no luck")
    shown = words(open_page("history", compare=f"{first.id},{second.id}"))
    assert "What differs" in shown
    assert "settings" in shown
    assert "Well balanced" in shown
    assert "Rank 1 failed" in shown


def test_times_of_two_runs_by_message_size_are_in_one_plot(
    open_page: Open, store: Store, session: SessionRecord
) -> None:
    runs = [measured(store, session, {"own": SECONDS["own"]})]
    store.finish(runs[0].id, "completed", metrics={}, error=None, verdict=None)
    runs.append(measured(store, session, {"own": SECONDS["ring"]}))
    page = open_page("history", compare=",".join(str(run.id) for run in runs))
    assert "Time by message size" in words(page)
    assert any(all(f'"run {run.id} own"' in plot for run in runs) for plot in figures(page))


def test_five_runs_are_compared_with_a_baseline(open_page: Open, store: Store, session: SessionRecord) -> None:
    runs = [seed.completed(store, session) for _ in range(5)]
    numbers = [run.id for run in runs]
    page = open_page("history", compare=",".join(map(str, numbers)))
    assert page.query_params["compare"] == ",".join(map(str, numbers)), "in the order in which they were picked"
    (choice,) = [control for control in page.segmented_control if control.label == "Baseline"]
    assert choice.value == numbers[0]
    choice.set_value(numbers[4]).run()
    assert not page.exception
    assert [line.split("run ")[1:3] for line in cards(page) if "settings" in line] == [
        [f"{numbers[4]}  ", f"{numbers[0]}  "]
    ]


def test_history_filters(open_page: Open, store: Store, session: SessionRecord) -> None:
    done = seed.completed(store, session)
    seed.failed(store, session, "no luck")
    page = open_page("history")
    assert len(page.dataframe[0].value) == 2
    next(box for box in page.selectbox if box.label == "Status").set_value("completed").run()
    assert list(page.dataframe[0].value["Run"]) == [f"run?run={done.id}"]


@pytest.mark.parametrize("compare", ["", "x,y", "99,98", "1", ",,,", "9" * 40, pytest.param("9" * 5000, id="long")])
def test_a_link_to_nothing_is_harmless(open_page: Open, session: SessionRecord, compare: str) -> None:
    open_page("history", compare=compare)


def test_several_sessions_can_be_chosen(open_page: Open, store: Store, session: SessionRecord) -> None:
    with seed.alive(store, "other"):
        page = open_page("session", session="other")
    (box,) = [box for box in page.selectbox if box.label == "Session"]
    assert box.value == "other"
    assert box.options == ["class", "other"]


def test_what_people_write_is_text() -> None:
    nasty = "![x](http://evil.example/x.png) <script> **b** `c` :material/home: $x$ [l](u)"
    shown = frame.plain(nasty)
    assert shown.replace("\\", "") == nasty
    for sign in "![]()<>*`:$":
        assert f"\\{sign}" in shown


@pytest.mark.parametrize("role", ["learner", "instructor"])
def test_the_session_page_says_how_far_horovod_is(
    open_page: Open, session: SessionRecord, monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    said = []
    waits = Build("running", percent=45, waits="process 7 (benchmarks kmeans) of user anna")
    for state in (Build("running", percent=45), waits, Build("failed", "No g++; see /srv/log."), Build("built")):
        monkeypatch.setattr(horovod, "build", lambda state=state: state)
        said.append([found.value.replace("\\", "") for found in open_page("session", role).info])
    running, waiting, failed, built = said
    assert ["45 % so far" in words for words in running] == [True]
    assert any("waits for process 7" in words for words in waiting) and "is being compiled" not in "".join(waiting)
    assert ["/srv/log" in words for words in failed] == [role == "instructor"]
    assert built == []
