"""The page Hangs: programs whose ranks wait for each other, as guided failures."""

from __future__ import annotations

import streamlit as st

from workshop.pages import frame
from workshop.pages.guided_failures import guided_failures
from workshop.report.failures import failures_of
from workshop.workloads.hangs import WORKLOAD

WORDS = (
    "Each of these programs stops at a place from which it never goes on. Read the program, predict for which ranks "
    "the others wait and why, then run it."
)
ABOUT = "The run starts the program on ranks of its own, waits until nothing moves, says why, and ends the program."
ANY = "all"


def page() -> None:
    """Draw the page: a choice of programs, and the chosen one."""
    identity = frame.heading("Hangs", WORDS)
    session = frame.choose_session()
    entries = failures_of(WORKLOAD.name)
    programs = [(entry, entry.prediction.program, entry.shows.split()[0]) for entry in entries if entry.prediction]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        words = st.text_input("Search", placeholder="scatter")
        sizes = sorted({ranks for _, _, ranks in programs})
        size = st.segmented_control("Ranks", [ANY, *sizes], default=ANY, required=True)
    chosen = [entry for entry, program, ranks in programs if words.lower() in program.lower() and size in (ANY, ranks)]
    st.caption(f"{len(chosen)} of {len(programs)} programs")
    if not chosen:
        st.info("No program has these words with so many ranks; take fewer words.", icon=":material/search_off:")
        return
    title = st.selectbox("Program", [entry.title for entry in chosen])
    guided_failures(session, identity, [entry for entry in chosen if entry.title == title], ABOUT)
