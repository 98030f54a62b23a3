"""A lab in its notebook: guesses that are kept before anything is seen, checks of exercises, and how far one is."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from IPython import get_ipython

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.course import catalogue, description, exercise_checks, learner, notebook, source
from workshop.course.exercise_checks import MISSING, CheckOutcome, Exercise
from workshop.notebook import ranks
from workshop.notebook.display import CALM, GOOD, MACROS, NEARLY, Message, NotebookDisplay, Piece
from workshop.notebook.request import plain, unknown
from workshop.notebook.session import attach, notebook_store
from workshop.report import html
from workshop.store.records import LabProgress
from workshop.store.store import Store

GRACE = 5.0  # seconds beyond a check's own limit: ranks are asked, and answer
STOPPED = "You stopped"  # how a sentence begins that a stopped check ends with
WELCOME = (
    "You have been here before: what was right is kept. Names are not, neither here nor on the ranks, so run the cells "
    "from the top."
)

_opened: set[tuple[str, str]] = set()  # learners and labs in this kernel


def load_ipython_extension(shell: Any) -> None:
    """IPython calls this in our kernels at their start, while the page is loading: the first cell needn't wait for
    imports. Without a session, `%%ranks` tells what is missing."""
    shell.register_magics(ranks.UnattachedMagics)


def lab(name: str) -> NotebookLab:
    """The lab with that folder name, like "kmeans"; shows its goals and your progress. Raises BadInput for an unknown
    lab."""
    folder = catalogue.find(name)
    return NotebookLab(folder, description.read(folder), notebook_store())


class NotebookLab(NotebookDisplay):
    """A lab of the course, as its notebook has it. Progress is kept in the store, under the learner's name."""

    def __init__(self, folder: Path, described: description.LabDescription, store: Store) -> None:
        self.name = folder.name
        self.described = described
        self._folder, self._store = folder, store
        self._learner = learner.name()
        self._known = notebook.predicted(folder)
        opened = (self._learner, self.name)
        self._again = opened not in _opened and bool(self._entries("notebook"))
        _opened.add(opened)
        store.keep_opened(self._learner, self.name)

    def predict(self, id: str, value: Any = MISSING) -> None:
        """Keep a guess before it is seen, or show the one that was kept. Once it was measured, the guess stays."""
        self._check_prediction(id)
        prediction = self._entries("prediction").get(id)
        entry = (prediction and prediction.value) or {}
        guess = read_guess(id, value)
        if guess is not None and "measured" not in entry and entry.get("guess") != guess:
            entry = self._keep_prediction(id, guess=guess)
        predicted(id, guess, entry).show()

    def measured(self, id: str, value: Any) -> None:
        """Keep what came out, and show it beside the guess."""
        self._check_prediction(id)
        if (value_read := read_guess(id, value)) is None:
            raise BadInput(f"Nothing was measured for {id}: give the value that came out.")
        compared(id, self._keep_prediction(id, measured=value_read)).show()

    def check(self, id: str, answer: Any = MISSING) -> None:
        """Check an exercise: right, or a hint. Without an answer, it takes the name of the exercise from this notebook,
        or from the ranks where a `%%ranks` cell defined it."""
        exercise = self._exercise(id)
        if exercise.ranks:
            if answer is not MISSING:
                raise BadInput(f'{id} is written in a %%ranks cell: check it there, with lab.check("{id}") alone.')
            outcome = self._on_ranks(exercise)
        else:
            shell = get_ipython()
            if answer is MISSING and shell is not None:
                answer = shell.user_ns.get(id, MISSING)
            outcome = exercise_checks.run(exercise, answer)
        self._tell(exercise, outcome)

    def solution(self, id: str) -> None:
        """Show a solution of an exercise and its reason, once the exercise is right, or after `exercise_checks.SOLVED`
        checks in a row that were not right. Raises BadInput before that."""
        exercise = self._exercise(id)
        entry = self._entries("exercise").get(id)
        wrong = entry.wrong if entry is not None else 0
        if (entry is None or entry.right_at is None) and wrong < exercise_checks.SOLVED:
            raise BadInput(
                f"The solution of {id} opens after {exercise_checks.SOLVED} checks in a row that are not right; there "
                f'are {wrong}. Try it, and call lab.check("{id}").'
            )
        code = notebook.solution(source.read(self._folder / source.FILE), id)
        inside = MACROS.solution(f"A solution of {id}", code)
        Message(f"A solution of {id}:\n\n{code}\n\n", exercise.reason, CALM, inside).show()

    def _exercise(self, id: str) -> Exercise:
        """The exercise of this id. Raises BadInput."""
        if id not in self.described.exercises:
            raise unknown(id, self.described.exercises, f"an exercise of lab {self.name}")
        if (exercise := exercise_checks.load(self._folder).get(id)) is None:
            raise BadInput(f"{self._folder} has no check for {id}; tell whoever made this lab.")
        return exercise

    def words(self) -> str:
        described = self.described
        lines = [f"Lab {described.number}: {described.title}, about {described.minutes} minutes"]
        lines += [WELCOME] if self._again else []
        lines += [f"- {goal}" for goal in described.goals]
        lines += [f"Exercise {id}: {state}" for id, state, _ in self._states()]
        return "\n".join(lines)

    def pieces(self) -> Iterable[Piece]:
        described = self.described
        title, note = f"Lab {described.number}: {described.title}", WELCOME if self._again else ""
        yield html.box(MACROS.lab(title, described.minutes, described.goals, list(self._states()), note))

    def _states(self) -> Iterable[tuple[str, str, str]]:
        """Each exercise with its state and its look."""
        entries = self._entries("exercise")
        for id in self.described.exercises:
            entry = entries.get(id)
            if entry is None:
                yield id, "to do", CALM
            elif entry.right_at is not None:
                yield id, "right", GOOD
            else:
                yield id, f"not right yet, after {words.count(entry.tries, 'check')}", NEARLY

    def _check_prediction(self, id: str) -> None:
        if id not in self._known:
            raise unknown(id, self._known, f"a prediction of lab {self.name}")

    def _entries(self, kind: str) -> dict[str, LabProgress]:
        return {entry.item: entry for entry in self._store.progress(self._learner, self.name) if entry.kind == kind}

    def _keep_prediction(self, id: str, **values: Any) -> dict[str, Any]:
        return dict(self._store.keep_prediction(self._learner, self.name, id, **values).value or {})

    def _tell(self, exercise: Exercise, outcome: CheckOutcome) -> None:
        """Store the result of a check, and show it: the fault, then a hint, then where the solution is."""
        id = exercise.id
        entry = self._store.keep_check(self._learner, self.name, id, outcome.kind, outcome.sentence)
        if not outcome.right:
            state, look = ("empty", CALM) if outcome.kind == "empty" else ("not right yet", NEARLY)
            sentences = [outcome.sentence]
            if exercise.hint and entry.wrong >= exercise_checks.HINTED:
                sentences.append(exercise.hint)
            if entry.wrong >= exercise_checks.SOLVED:
                sentences.append(f'lab.solution("{id}") shows a solution.')
            Message(f"{id} is {state}", " ".join(sentences), look).show()
            return
        remaining = [other for other, state, _ in self._states() if state != "right"]
        more = f"Left in this lab: {words.listed(remaining)}." if remaining else "All exercises of this lab are right."
        after = f"After {entry.tries} checks. " if entry.tries > 1 else ""
        Message(f"{id} is right", f"{after}{more}", GOOD).show()

    def _on_ranks(self, exercise: Exercise) -> CheckOutcome:
        cells = attach().ranks
        text = (self._folder / exercise_checks.CHECKS).read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory(prefix="workshop-check-") as folder:
            arguments = (self.name, text, exercise.id, exercise_checks.CHECK_SECONDS, folder)
            try:
                answers = cells.call(
                    exercise_checks.check_on_ranks, *arguments, seconds=exercise_checks.CHECK_SECONDS + GRACE
                )
            except ranks.RanksFailed as failed:
                if any(line.startswith(STOPPED) for line in str(failed).splitlines()):
                    raise
                if (first := exercise_checks.what_was_told(Path(folder))) is None:
                    return CheckOutcome("late", str(failed))
                rank, outcome = first
                return CheckOutcome(outcome.kind, f"Rank {rank}: {outcome.sentence} {failed}")
        return CheckOutcome(*answers[0])


CLOSE = 0.1  # of what was measured: so far off is a good guess
FAR = 2.0  # times from which on a factor says more than a percentage


def read_guess(id: str, value: Any) -> Any:
    """A guess or a measured value as the store keeps it; None where there is none. Raises BadInput."""
    if value is MISSING or value is None or value is ...:
        return None
    guess = value.tolist() if hasattr(value, "tolist") else plain(value)
    if isinstance(guess, float) and not math.isfinite(guess):
        raise BadInput(f"{id} is {guess}, which is no number to compare with; look at how it was worked out.")
    if not isinstance(guess, str | bool | int | float | list | tuple | dict):
        example = f"a guess is a number or a word, as in lab.predict({id!r}, 1.5)"
        raise BadInput(f"{id} is a {type(guess).__name__}; {example}.")
    return list(guess) if isinstance(guess, tuple) else guess


def predicted(id: str, guess: Any, entry: Mapping[str, Any]) -> Message:
    """The words for a guess, or for somebody who asks for it. `entry` is what the store has now."""
    if "measured" in entry:
        sentence = f"Measured: {in_words(entry['measured'])}."
        if "guess" not in entry:
            return Message(f"{id} was measured already", f"{sentence} A guess counts only before that.")
        stays = "" if guess is None or guess == entry["guess"] else " It was measured already, so that guess stays."
        return Message(f"Your guess for {id} was {in_words(entry['guess'])}", f"{sentence}{stays}")
    if "guess" not in entry:
        return Message(f"No guess for {id} yet", f"Give a value, as in lab.predict({id!r}, 1.5), before you run on.")
    return Message(
        f"Your guess for {id} is {in_words(entry['guess'])}", "It is kept, and shown beside what is measured."
    )


def compared(id: str, entry: Mapping[str, Any]) -> Message:
    """The measured value beside the guess."""
    measured = entry["measured"]
    if "guess" not in entry:
        sentence = f"You made no guess; the next time, lab.predict({id!r}, ...) comes first."
        return Message(f"{id}: measured {in_words(measured)}", sentence)
    guess = entry["guess"]
    how, close = _distance(guess, measured)
    values = {f"{id}: you guessed": guess, "Measured": measured}
    tiles = html.tiles({"label": label, "value": in_words(value)} for label, value in values.items())
    return Message(
        f"{id}: you guessed {in_words(guess)}, measured {in_words(measured)}", how, GOOD if close else CALM, tiles
    )


def in_words(value: Any) -> str:
    """A value in few words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer() and abs(value) < 1e6):
        return f"{int(value):,}"
    if isinstance(value, float):
        return words.quantity(value)
    if isinstance(value, list):
        return words.listed(in_words(each) for each in value)
    if isinstance(value, dict):
        return words.listed(f"{key}: {in_words(each)}" for key, each in value.items())
    return str(value)


def _distance(guess: Any, measured: Any) -> tuple[str, bool]:
    """The distance of a guess from the measured value, and whether that is close."""
    if guess == measured:
        return "As you guessed.", True
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in (guess, measured)):
        return "Something else than you guessed.", False
    off = guess - measured
    way = "high" if off > 0 else "low"
    if abs(off) <= CLOSE * abs(measured):
        return "That is close.", True
    if measured * guess <= 0:
        return f"Your guess was too {way} by {in_words(float(abs(off)))}.", False
    times = max(abs(guess / measured), abs(measured / guess))
    if times >= FAR:
        return f"Your guess was too {way}, by a factor of {words.quantity(times)}.", False
    return f"Your guess was {words.percent(abs(off / measured))} too {way}.", False
