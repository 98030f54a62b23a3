"""What pages that show a study of one kind have in common: which study, whether it goes on, and stopping it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from workshop.core.errors import WorkshopError
from workshop.pages import frame
from workshop.server.numbers import number
from workshop.server.study_processes import RUNNERS
from workshop.store.records import Identity, StudyRecord

EVERY = 3.0  # seconds between two looks at a study that rests


def chosen(studies: Sequence[StudyRecord], kind: str, other: str, newest: str) -> StudyRecord | None:
    """`?study=`, or the newest of `studies`, which come first.

    Where `?study=` is of another kind, the page says that the study is none of the `other`; where there is no such
    study, it says that this is the `newest` one.
    """
    given = st.query_params.get("study")
    if given is None:
        return studies[0] if studies else None
    try:
        found = frame.store().study(number(given))
        if found.kind == kind:
            return found
        st.warning(f"Study {found.id} is none of {other}; the page Studies shows it.")
    except (WorkshopError, ValueError):
        st.warning(f"There is no study {frame.plain(given[:40])}; here is the newest {newest}.")
    return studies[0] if studies else None


def live(study: StudyRecord) -> bool:
    """Whether it goes on, or is about to."""
    running = RUNNERS.of(study.id)
    return study.state == "running" or (running is not None and not running.ended.is_set())


def stop_button(study_id: int, identity: Identity) -> None:
    """Stop what this dashboard runs."""
    running = RUNNERS.of(study_id)
    if running is None or running.ended.is_set():
        st.caption("A command runs it; Ctrl-C there stops it.")
    elif running.stopping:
        st.caption("Stopping …")
    elif st.button("Stop", icon=":material/stop_circle:", key="study-stop"):
        try:
            RUNNERS.stop(identity, study_id)
        except WorkshopError as error:
            st.error(frame.plain(str(error)))
        else:
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
