"""Live rounds of quizzes. Learners see the rounds that they can join; the instructor sees all rounds, with links."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

from workshop.core.words import count, moment
from workshop.pages import blocks, frame
from workshop.server.quiz import round_end
from workshop.store.records import Identity, QuizRound

RECENT = 20  # rounds that are listed
PHASES = {"lobby": "in the lobby", "question": "a question is open", "podium": "at the podium"}


def to_join() -> None:
    """The rounds that go on, as learners see them."""
    going = frame.store().rounds("live", going_on=True)[:RECENT]
    if not going:
        return
    st.subheader("Join a round", anchor=False)
    for this in going:
        with st.container(border=True, key=f"round-{this.id}"):
            st.markdown(f"**{frame.plain(this.title)}** · {_phase(this)} · {_players(this)}")
            st.link_button(
                "Join", f"/quiz?{urlencode({'code': this.code or ''})}", icon=":material/login:", type="primary"
            )


def going_on(identity: Identity) -> None:
    """All rounds that go on, for the instructor: nothing else leads back to a round's host view."""
    for this in frame.store().rounds("live", going_on=True):
        _round(this, identity)


def ended(identity: Identity) -> None:
    """Rounds that have ended, and the results of learners who answered alone, for the instructor."""
    recent = [this for this in frame.store().rounds("live") if this.ended_at is not None][:RECENT]
    st.subheader("Rounds that have ended", anchor=False)
    if not recent:
        st.markdown("No round has ended yet.")
    for this in recent:
        _round(this, identity)
    alone = frame.store().rounds("alone")[:RECENT]
    if alone:
        with st.expander("Results of learning alone", icon=":material/person:"):
            for this in alone:
                label = f"{this.title} ({count(len(frame.store().players(this.id)), 'attempt')}, {_when(this)})"
                st.link_button(frame.plain(label), f"/quiz/{this.id}/results", icon=":material/analytics:")


def _round(this: QuizRound, identity: Identity) -> None:
    with st.container(border=True, key=f"round-{this.id}"):
        code = f" · code **{frame.plain(this.code or '')}**" if this.ended_at is None else ""
        st.markdown(f"**{frame.plain(this.title)}** · {_phase(this)}{code} · {_players(this)} · {_when(this)}")
        with st.container(horizontal=True):
            if this.ended_at is None:
                st.link_button("Host", f"/quiz/{this.id}/host", icon=":material/settings_remote:", type="primary")
                st.link_button("Projector", f"/quiz/{this.id}/projector", icon=":material/cast:")
            st.link_button("Results", f"/quiz/{this.id}/results", icon=":material/analytics:")
            if this.ended_at is None:
                words = "This ends the round for all who are in it. What was answered stays."
                if blocks.confirmed("End", ":material/stop_circle:", words, "End it", f"end-{this.id}"):
                    with blocks.errors():
                        round_end.end(frame.store(), identity, this.id)
                        st.rerun()


def _phase(this: QuizRound) -> str:
    if this.ended_at is not None:
        return "ended"
    return PHASES.get(str(this.state.get("phase", "lobby")), "goes on")


def _players(this: QuizRound) -> str:
    players = [player for player in frame.store().players(this.id) if not player.removed]
    return count(len(players), "learner")


def _when(this: QuizRound) -> str:
    return moment(this.created_at)
