"""Quizzes: decks of questions, grading, live rounds with a class, and reports for the instructor.

`types` has a class for each question type: its fields, and how it is shown, answered and graded.
Authors write a `deck` of `parts` and `expressions`. `reader` reads it; `form_errors` finds
mistakes, and it names the first of each question with its line. `text_input` reads the typed answer. `truth` measures
the right answer of a prediction. `rendering` and `pictures` turn Markdown into safe HTML. `self_study` is for learning
alone, `live` has the states and points of a round, `results` is for the instructor, `gift` reads and writes the files
of Moodle.
"""
