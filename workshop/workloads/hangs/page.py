"""The page Hangs: programs whose ranks wait for each other, as guided failures."""

from __future__ import annotations

import streamlit as st

from workshop.report.failures import failures_of
from workshop.web.pages import frame
from workshop.web.pages.predictions import guided_failures
from workshop.workloads.hangs import WORKLOAD

WORDS = (
    "Each of these programs stops at a place from which it never goes on. Read the program, predict for which ranks "
    "the others wait and why, then run it."
)
ABOUT = "The run starts the program on ranks of its own, waits until nothing moves, says why, and ends the program."


def page() -> None:
    """Draw the page: a choice of programs, and the chosen one."""
    identity = frame.heading("Hangs", WORDS)
    session = frame.choose_session()
    entries = failures_of(WORKLOAD.name)
    title = st.selectbox("Program", [entry.title for entry in entries], key="program")
    guided_failures(session, identity, [entry for entry in entries if entry.title == title], ABOUT)
