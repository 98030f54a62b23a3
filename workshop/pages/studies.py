"""What pages that show studies have in common: which study, how far it is, beginning, running and stopping it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from workshop.core.errors import BadInput
from workshop.pages import blocks, frame
from workshop.report.cards import Card
from workshop.server import actions
from workshop.server.study_processes import RUNNERS
from workshop.store.records import Identity, SessionRecord, StudyRecord
from workshop.study import export
from workshop.study.kinds import Report

EVERY = 3.0  # seconds between two looks at a study that rests


def chosen(studies: Sequence[StudyRecord], kind: str, other: str, newest: str) -> StudyRecord | None:
    """`?study=`, or the newest of `studies`, which come first.

    Where `?study=` is of another kind, the page says that the study is none of the `other`; where there is no such
    study, it says that this is the `newest` one.
    """
    found = blocks.linked("study", frame.store().study, f"here is the newest {newest}")
    if found is not None and found.kind == kind:
        return found
    if found is not None:
        st.warning(f"Study {found.id} is none of {other}; the page Studies shows it.")
    return studies[0] if studies else None


def live(study: StudyRecord) -> bool:
    """Whether it goes on, or is about to."""
    running = RUNNERS.of(study.id)
    return study.state == "running" or (running is not None and not running.ended.is_set())


def begin(keep: Callable[[], StudyRecord], identity: Identity) -> None:
    """Have a prepared study kept, and show it."""
    with blocks.errors():
        actions.only_instructor(identity)
        st.query_params["study"] = str(keep().id)
        st.query_params.pop("new", None)
        st.rerun()


def begin_another(key: str) -> None:
    """A button that leads to the form of a new study."""
    if not frame.recorded() and st.button("Begin another one", type="tertiary", key=key):
        st.query_params["new"] = "1"
        st.rerun()


def how_far(study: StudyRecord, going: bool, words: str, share: float, key: str) -> Any:
    """A box that says in Markdown how far a study is; returns it, for buttons below. `going` is whether the study went
    on when the page was drawn."""
    if going and not live(study):
        st.rerun()  # the whole page once more, which no longer asks
    box = st.container(border=True, key=key)
    with box:
        st.markdown(words)
        if going:
            st.progress(min(share, 1.0))
        running = RUNNERS.of(study.id)
        if running is not None and running.failed:
            st.error(f"It ended before it was done: {frame.plain(running.failed)}")
    return box


def run(study_id: int, session: SessionRecord, identity: Identity, ask: Callable[[], object] = lambda: None) -> None:
    """Have the runs that are missing run, after `ask` has said which are wanted; the page then follows."""
    with blocks.errors():
        actions.only_instructor(identity)
        if live(frame.store().study(study_id)):  # another instructor was faster
            raise BadInput(f"Study {study_id} goes on already.")
        ask()
        RUNNERS.start(frame.store(), identity, study_id, session)
        st.rerun()


def stop_button(study_id: int, identity: Identity) -> None:
    """Stop what this dashboard runs."""
    running = RUNNERS.of(study_id)
    if running is None or running.ended.is_set():
        st.caption("A command runs it; Ctrl-C there stops it.")
    elif running.stopping:
        st.caption("Stopping …")
    elif st.button("Stop", icon=":material/stop_circle:", key="study-stop"):
        with blocks.errors():
            RUNNERS.stop(identity, study_id)
            st.rerun()


def follow(study: StudyRecord) -> None:
    """Draw the whole page anew as soon as somebody goes on with a study that rests, or it has come further.

    Looking whether that has happened costs next to nothing.
    """
    st.fragment(run_every=EVERY)(_look)(study.id, _state(study))


def _look(study_id: int, seen: tuple[object, ...]) -> None:
    if _state(frame.store().study(study_id)) != seen:
        st.rerun()


def _state(study: StudyRecord) -> tuple[object, ...]:
    return study.state, study.trials, study.done, study.failed, study.finished_at


def download(found: Report, shown: Sequence[Card]) -> None:
    """The report as one file."""
    study = found.study.id
    page = f"study-{study}.html"
    blocks.download("Download as HTML", lambda: frame.marked(export.page(found, shown)), page, "text/html")
    st.caption(f"Pictures and data: `workshop study export {study} --png FOLDER --csv FILE`")
