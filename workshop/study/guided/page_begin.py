"""Beginning a guided study: with which setting, and how long it will take."""

from __future__ import annotations

from typing import Any

import streamlit as st

from workshop.core import words
from workshop.core.errors import WorkshopError
from workshop.pages import frame, studies
from workshop.registry import workload
from workshop.report.wording import waiting
from workshop.store.records import Identity, SessionRecord
from workshop.study.guided import wanting
from workshop.study.guided.plan import OURS, WORKLOAD, Setting

SETTINGS = {False: "Quick", True: "Thorough"}
PROMISED = 15 * 60.0  # seconds that the quick setting may take on two cores
ASKED = ("data", "size")  # params of the workload that the form offers


def form(session: SessionRecord | None, identity: Identity) -> None:
    """The instructor's form; learners are told to wait."""
    if identity.role != "instructor":
        st.info("The instructor has not prepared the guided study yet.", icon=":material/hourglass_empty:")
        return
    with st.container(border=True, key="tuning-begin"):
        st.markdown("#### Prepare the guided study")
        st.markdown("Nothing is run before you say so: first the class predicts what will come out of a step.")
        thorough = st.segmented_control(
            "Setting", list(SETTINGS), default=False, required=True, format_func=lambda one: SETTINGS[one]
        )
        try:
            setting = wanting.here(session, _given(), thorough=bool(thorough))
        except WorkshopError as error:
            st.error(frame.plain(str(error)))
            return
        _told(setting)
        if st.button("Prepare it", type="primary", icon=":material/route:"):
            studies.begin(lambda: wanting.begin(frame.store(), setting.wanting(""), identity.nickname), identity)


def _given() -> dict[str, Any]:
    """What all trials have in common."""
    fields = workload(WORKLOAD).params.model_fields
    given: dict[str, Any] = {}
    for name, column in zip((one for one in ASKED if one not in OURS), st.columns(2), strict=False):
        extra = fields[name].json_schema_extra
        file = extra.get("file") if isinstance(extra, dict) else None
        options = list(file["choices"]) if isinstance(file, dict) else [28, 56, 112]
        with column:
            picked = st.selectbox(name.capitalize(), options, help=fields[name].description)
        if picked != fields[name].default:
            given[name] = picked
    return given


def _told(setting: Setting) -> None:
    told = wanting.expected_of(frame.store(), setting)
    promised = setting.quick and setting.cores <= 2 and told.seconds <= PROMISED
    promise = " That is at most a quarter of an hour." if promised else ""
    st.markdown(
        f"All nine steps: about **{told.runs} runs**, **{waiting(told.seconds)}** on this machine's "
        f"{words.count(setting.cores, 'core')} ({frame.plain(told.why)}).{promise} Steps can be run one by one."
    )
