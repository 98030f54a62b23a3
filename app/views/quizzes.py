"""Quizzes: to learn from alone, lab by lab; rounds to join; and for the instructor to begin, follow and end them."""

import streamlit as st
from parts import quiz_begin, quiz_rounds

from workshop.core import words
from workshop.pages import frame
from workshop.quiz import catalogue, self_study
from workshop.quiz.deck import Deck
from workshop.quiz.self_study import DeckProgress, QuizLearner
from workshop.store.records import Identity

ABREAST = 3  # cards
WORDS = (
    "Each lab has questions: learn from them **alone**, as often as you like, with numbers of your own and an "
    "explanation after each answer; or answer them **live**, together with the class."
)


def main() -> None:
    identity = frame.heading("Quizzes", WORDS)
    if identity.role == "instructor":
        live, by_oneself = st.tabs(["Live rounds", "Learn alone"])
        with live:
            if not frame.recorded():
                quiz_begin.form(identity)
            quiz_rounds.rounds(identity)
        with by_oneself:
            _decks(identity)
        return
    quiz_rounds.to_join()
    _decks(identity)
    st.link_button("See or remove what is kept of me", "/quiz/mine", icon=":material/shield_person:")


def _decks(identity: Identity) -> None:
    """The labs' decks, each with how far one is."""
    st.subheader("Learn alone", anchor=False)
    found = catalogue.decks()
    if not found:
        st.info("There are no quizzes here yet.", icon=":material/info:")
    good = {name: deck for name, deck in found.items() if isinstance(deck, Deck)}
    names = list(good)
    for first in range(0, len(names), ABREAST):
        for column, name in zip(st.columns(ABREAST), names[first : first + ABREAST], strict=False):
            with column:
                _deck(name, good[name], self_study.progress(frame.store(), good[name], QuizLearner.of(identity)))
    for name in found.keys() - good.keys():
        if identity.role == "instructor":
            st.error(f"The quiz of lab {frame.plain(name)} can't be read; `workshop quiz check {name}` says why.")


def _deck(name: str, deck: Deck, score: DeckProgress | None) -> None:
    with st.container(border=True, key=f"deck-{name}"):
        st.markdown(f"**{frame.plain(deck.title)}** · {words.count(len(deck.questions), 'question')}")
        if score is not None and score.answered:
            st.progress(score.answered / score.questions, _said(score))
        label = "Begin" if score is None or not score.answered else "See how it went" if score.done else "Go on"
        where = "#score" if score is not None and score.done else ""
        st.link_button(label, f"/quiz/alone/{name}{where}", icon=":material/quiz:")


def _said(score: DeckProgress) -> str:
    told = (
        f"{score.answered} of {score.questions} answered, {words.short(score.points)} of {words.short(score.of)} points"
    )
    return f"{told}; {words.count(len(score.again), 'question')} to look at again" if score.again else told


main()
