"""Quizzes: to learn from alone, lab by lab; rounds to join; and for the instructor to begin, follow and end them."""

import streamlit as st

from workshop.core.words import count
from workshop.pages import blocks, frame, quiz_begin, quiz_rounds
from workshop.quiz import catalogue, self_study
from workshop.quiz.deck import Deck
from workshop.quiz.self_study import DeckProgress, QuizLearner
from workshop.store.records import Identity

ABREAST = 3  # cards
WORDS = (
    "Each lab has questions: learn from them **alone**, as often as you like, with numbers of your own and an "
    "explanation after each answer; or answer them **live**, together with the class."
)


def page() -> None:
    identity = frame.heading("Quizzes", WORDS)
    if identity.role == "instructor":
        live, by_oneself = st.tabs(["Live rounds", "Learn alone"])
        with live:
            quiz_rounds.going_on(identity)
            if not frame.recorded():
                quiz_begin.form(identity)
            quiz_rounds.ended(identity)
        with by_oneself:
            _decks(identity)
        return
    quiz_rounds.to_join()
    _decks(identity)
    st.link_button("See or remove what is kept of me", "/quiz/mine", icon=":material/shield_person:")


def _decks(identity: Identity) -> None:
    """The labs' decks, each with how far one is."""
    st.subheader("Learn alone", anchor=False)
    decks = catalogue.decks()
    if not decks:
        st.info("There are no quizzes here yet.", icon=":material/info:")
    good = [(name, deck) for name, deck in decks.items() if isinstance(deck, Deck)]
    for column, (name, deck) in blocks.abreast(good, ABREAST):
        with column, st.container(border=True, key=f"deck-{name}"):
            _deck(name, deck, self_study.progress(frame.store(), deck, QuizLearner.from_identity(identity)))
    for name in decks.keys() - dict(good).keys():
        if identity.role == "instructor":
            st.error(f"The quiz of lab {frame.plain(name)} can't be read; `workshop quiz check {name}` says why.")


def _deck(name: str, deck: Deck, score: DeckProgress | None) -> None:
    st.markdown(f"**{frame.plain(deck.title)}** · {count(len(deck.questions), 'question')}")
    label, where = "Begin", ""
    if score is not None and score.answered:
        st.progress(score.answered / score.questions, score.words)
        label, where = ("See how it went", "#score") if score.done else ("Go on", "")
    st.link_button(label, f"/quiz/alone/{name}{where}", icon=":material/quiz:")
