"""A run: set it up, start it, watch it. `?run=ID` is a link to one, `&again=ID` fills the form in to go on from it,
`?workload=NAME` begins with that one, `&preset=2` with its second preset,
`&projector=1` shows the run in large type."""

import streamlit as st

from workshop.pages import blocks, frame, links, projector, run_form
from workshop.pages.live import run_view
from workshop.server import actions
from workshop.store import run_notes
from workshop.store.records import Identity, RunRecord, SessionRecord

RECENT = 8  # runs that are listed
EVERY = 2.0  # seconds between looks whether the run still runs


def page() -> None:
    if projector.requested():
        run = blocks.linked("run", frame.store().run, "*History* shows those there are")
        if run is not None:
            projector.run_screen(run)
        return
    identity = frame.heading("Run")
    session = frame.choose_session()
    run = blocks.linked("run", frame.store().run, "*History* shows those there are")
    main, form = st.columns([13, 5], gap="medium")
    with main:
        if run is not None:
            run_view(run.id, identity, run_form.prediction_of(run.id, identity))
            if identity.role == "instructor" and not run.ended and not frame.recorded():
                st.fragment(run_every=EVERY)(_kill)(run.id, identity)
            _note(run, identity)
        else:
            _nothing_chosen(session)
    # On a phone the form stands below the run; without a run, or for a continued one, it comes first, see style.css.
    first = run is None or {"again", "change"} & set(st.query_params)
    with form, st.container(border=True, key="go-on" if first else "new-run"):
        if frame.recorded() or session is None:
            st.markdown(frame.not_up(session))
        else:
            run_form.form(session, identity, run)


def _kill(run_id: int, identity: Identity) -> None:
    """A form to kill a rank of a run while it runs."""
    run = frame.store().run(run_id)
    ranks = [report["rank"] for report in (run.rank_map or {}).get("ranks", [])]
    if run.status != "running" or not ranks:
        return
    with (
        st.expander("Kill a rank", icon=":material/bolt:"),
        st.container(horizontal=True, vertical_alignment="bottom"),
        blocks.errors(),
    ):
        rank = st.selectbox("Rank", ranks, width=120)
        if st.button("Kill it", help="SIGKILL: the process ends at once, as when its host fails"):
            actions.kill_rank(frame.store(), identity, run.id, rank)
            st.toast(f"Rank {rank} is killed within a second or two.")


def _note(run: RunRecord, identity: Identity) -> None:
    """A form for the note on the run, for those who may write it."""
    author = actions.note_author(identity, run)
    if author is None or frame.recorded():
        return
    with st.expander("Write a note on this run", icon=":material/edit_note:"), st.form(f"note-{run.id}", border=False):
        text = st.text_area(
            "Note, which all who open this run can read",
            run_notes.notes(frame.store(), run.id).get(author, ""),
            max_chars=actions.LONGEST_NOTE,
        )
        if st.form_submit_button("Save the note"):
            with blocks.errors():
                actions.write_note(frame.store(), identity, run.id, text)
                st.success("The note is saved.")


def _nothing_chosen(session: SessionRecord | None) -> None:
    """How to begin, and the latest runs."""
    if not frame.recorded():
        st.subheader("Set up a run and start it", anchor=False)
        st.markdown(
            "Choose what the ranks should compute, set it up on the form, or take one of its presets. "
            "What they find appears here while they work."
        )
        run_form.workload_cards()
    latest = frame.store().runs(session_id=session.id, limit=RECENT) if session else []
    if latest:
        st.markdown("**Watch one of the latest:**" if frame.recorded() else "**Or watch one of the latest:**")
    links.run_links(latest)
