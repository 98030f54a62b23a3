"""Quizzes: decks of questions, how answers are judged, rounds with a class, and what an instructor learns of them."""
