"""All findings about a round: its figures, its learners, questions to go over again, and Verdict, Why, Next."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any

from workshop.core import words as say
from workshop.quiz.results.comparison import RoundComparison, compare
from workshop.quiz.results.items import Item, items, quartiles
from workshop.quiz.results.record import Results
from workshop.quiz.types import Question
from workshop.quiz.types.rows import AnswerChoice, short

FEW = 0.5  # share of right answers below which a question needs revision
MANY = 1 / 3  # share of the answers from which on a misconception is common
GUESSED = 5  # answers needed for the statement that a share is no better than guessing
SLOW = 0.75  # share of the time limit from which on answers are slow
LONG = 2.0  # multiple of the questions' median time from which on answers are slow, without a time limit
ANOTHER = 0.2  # what each further reason adds to the need
LEAST_ASKED = 4  # questions that a learner must have been present for, before a low share means anything
LOW = 0.5  # share of the marks below which a learner may need help
CLASS = 5  # from this number of learners on, texts call them a class
FIRST = 3  # questions that the next step names
_LEVELS = (
    (0.8, "knows nearly all of this"),
    (0.6, "knows most of this"),
    (0.4, "knows about half of this"),
    (0.0, "does not know most of this yet"),
)


@dataclass(frozen=True)
class Reason:
    kind: str  # "misconception", "few", "guessed", "best", "slow", "missed"
    words: str  # one sentence
    say: str = ""  # the deck's feedback


@dataclass(frozen=True)
class RevisionItem:
    """A question to go over again. The need is the share of wrong answers, plus something for each further reason."""

    number: int
    id: str
    text: str
    need: float
    reasons: tuple[Reason, ...]


def revision_items(results: Results, items: Sequence[Item]) -> tuple[RevisionItem, ...]:
    """The questions that need revision, by descending need."""
    pace = [item.seconds.median for item in items if item.seconds is not None]
    usual = median(pace) if len(pace) >= 4 else math.inf
    revision = []
    for item in items:
        question = results.deck.question(item.id)
        if reasons := tuple(_reasons(results, question, item, usual)):
            need = (1 - item.share if item.share is not None else 0.0) + ANOTHER * (len(reasons) - 1)
            revision.append(RevisionItem(item.number, item.id, item.text, need, reasons))
    return tuple(sorted(revision, key=lambda item: (-item.need, item.number)))


def _reasons(results: Results, question: Question, item: Item, usual: float) -> Iterable[Reason]:
    if not question.marked:
        return
    if not question.measured and (row := _shared(item)) is not None:
        yield Reason(
            "misconception",
            f"{row.count} of {item.answered} gave the same wrong answer: {short(row.text)}{question.numbering}.",
            row.feedback,
        )
    if item.share is not None and item.share < FEW:
        yield Reason("few", f"{item.right} of {item.judged} had it right.")
        chance = question.guessed()
        if chance and item.interval and item.judged >= GUESSED and item.interval[0] <= chance <= item.interval[1]:
            options = f"{round(1 / chance)} options"
            yield Reason("guessed", f"That is no more than guessing among {options} gives ({say.percent(chance)}).")
    value = item.discrimination.value
    # One standard error below 0 happens by chance less than once in six times. Measured answers have no wrong key.
    if not question.measured and value is not None and value < -1 / math.sqrt(item.discrimination.of - 1):
        yield Reason(
            "best",
            "Those who did well on the other questions got it wrong more often: look at its key and its wording.",
        )
    if results.timed and item.there and item.answered < item.there * 2 / 3:
        yield Reason("missed", f"{item.answered} of {item.there} answered it in time.")
    if item.seconds is not None and item.answered >= 2:
        limit = results.deck.seconds_of(question)
        if results.timed and item.seconds.median > SLOW * limit:
            yield Reason("slow", f"Half of the answers took {say.seconds(item.seconds.median)} or more of {limit} s.")
        elif not results.timed and item.seconds.median > LONG * usual:
            yield Reason(
                "slow",
                f"Half of the answers took {say.seconds(item.seconds.median)} or more, where {say.seconds(usual)} is "
                "usual for this deck.",
            )


def _shared(item: Item) -> AnswerChoice | None:
    """The most common wrong answer, if it is common and at least two people gave it."""
    wrong = [row for row in item.chosen if row.right is False]
    row = max(wrong, key=lambda row: row.count, default=None)
    return row if row is not None and row.count >= 2 and row.count >= MANY * item.answered else None


@dataclass(frozen=True)
class Tag:
    """A learner's marks on the questions with one tag."""

    name: str
    questions: int  # questions with marks for which the learner was present
    mark: float  # mean, 0..1; a missing answer counts 0


@dataclass(frozen=True)
class LearnerResult:
    nickname: str
    place: int  # by points; learners with equal points share a place
    points: float
    possible: float  # points of the questions for which the learner was present, without a speed bonus
    share: float | None  # of the marks of these questions, without a bonus; None if there were none
    there: int  # number of questions for which the learner was present
    answered: int
    judged: int
    right: int
    seconds: float | None  # median per answer
    total: float  # seconds of all answers
    wrong: tuple[str, ...]  # questions with a wrong answer
    missed: tuple[str, ...]  # questions for which the learner was present and didn't answer
    late: tuple[str, ...]  # questions that were over before the learner joined
    tags: tuple[Tag, ...]


@dataclass(frozen=True)
class HelpNeed:
    """A learner who may need help, and the reason."""

    nickname: str
    words: str


def learners(results: Results) -> tuple[LearnerResult, ...]:
    """All learners by points; learners with equal points keep the order in which they joined."""
    points = {player.id: _points(results, player.id) for player in results.players}
    ordered = sorted(points.values(), reverse=True)
    places = {value: ordered.index(value) + 1 for value in set(ordered)}
    unsorted = [
        _learner_result(results, player.id, player.nickname, places[points[player.id]]) for player in results.players
    ]
    return tuple(sorted(unsorted, key=lambda learner: learner.place))


def help_wanted(people: Sequence[LearnerResult]) -> tuple[HelpNeed, ...]:
    """Learners who may need help: with few answers, or with low marks that are also among the lowest of the class.
    (If the marks of the whole class are low, the questions need revision.) Learners who were hardly present are not
    judged."""
    lowest = quartiles([learner.share for learner in people if learner.share is not None])
    needs = []
    for learner in people:
        if learner.there < LEAST_ASKED:
            continue
        if learner.answered < learner.there / 2:
            why = (
                f"answered {learner.answered} of {learner.there} questions; perhaps something kept them from answering"
            )
        elif learner.share is not None and lowest is not None and learner.share < LOW and learner.share <= lowest.low:
            fewest = f", fewest on {weak}" if (weak := _weak(learner)) else ""
            why = f"has {say.percent(learner.share)} of the marks{fewest}"
        else:
            continue
        needs.append(HelpNeed(learner.nickname, f"{learner.nickname} {why}."))
    return tuple(needs)


def _weak(learner: LearnerResult) -> str:
    """The tag with the lowest mark, if that is lower than the learner's share."""
    worst = min((tag for tag in learner.tags if tag.questions >= 2), key=lambda tag: tag.mark, default=None)
    return worst.name if worst is not None and learner.share is not None and worst.mark < learner.share else ""


def _points(results: Results, player: int) -> float:
    return math.fsum(answer.points or 0.0 for answer in results.answers_by(player).values())


def _learner_result(results: Results, player: int, nickname: str, place: int) -> LearnerResult:
    answers = results.answers_by(player)
    attended = [question for question in results.questions if player in results.present(question.id)]
    counted = [question for question in attended if results.counts(question.id)]
    worth = {question.id: results.deck.points_of(question) for question in counted}
    possible = math.fsum(worth.values())
    marks = {id: (answers[id].share or 0.0) if id in answers else 0.0 for id in worth}
    judged = [answer for answer in answers.values() if answer.share is not None]
    times = [answer.seconds for answer in answers.values() if answer.seconds is not None]
    middle = quartiles(times)
    by_tag: dict[str, list[float]] = {}
    for question in counted:
        for tag in dict.fromkeys(question.tags):
            by_tag.setdefault(tag, []).append(marks[question.id])
    return LearnerResult(
        nickname=nickname,
        place=place,
        points=_points(results, player),
        possible=possible,
        share=math.fsum(worth[id] * marks[id] for id in worth) / possible if possible else None,
        there=len(attended),
        answered=len(answers),
        judged=len(judged),
        right=sum(bool(answer.right) for answer in judged),
        seconds=middle.median if middle else None,
        total=math.fsum(times),
        wrong=tuple(id for id in results.question_ids if id in answers and answers[id].right is False),
        missed=tuple(question.id for question in attended if question.id not in answers),
        late=tuple(question.id for question in results.questions if question not in attended),
        tags=tuple(Tag(name, len(values), fmean(values)) for name, values in by_tag.items()),
    )


def verdict(
    results: Results,
    questions: Sequence[Item],
    people: Sequence[LearnerResult],
    revision: Sequence[RevisionItem],
    help_needs: Sequence[HelpNeed],
) -> dict[str, str]:
    """`verdict`, `why` and `next`, each with one or more sentences."""
    if not people:
        return _nothing("Nobody took part", "There is no learner in this round, or none is left in it.")
    if not results.answers:
        return _nothing("Nobody answered", f"{_learners(people)} took part and gave no answer.")
    shares = [learner.share for learner in people if learner.share is not None]
    judged = [item for item in questions if item.share is not None]
    if not judged or not shares:
        why = f"{_participation(questions, people)} None of the questions has a right answer, or none has been judged."
        return {"verdict": "There are answers, but no marks", "why": why, "next": "Talk about what was chosen."}
    mark = fmean(shares)
    level = next(words for least, words in _LEVELS if mark >= least)
    who = "The class" if len(people) >= CLASS else "This group" if len(people) > 1 else "This learner"
    caution = ""
    if len(people) < CLASS:
        few = f" With {_learners(people)} this says little of the questions"
        caution = f"{few}; intervals are wide, and groups can't be made."
    return {
        "verdict": f"{who} {level}: {say.percent(mark)} of the marks",
        "why": f"{_participation(questions, people)} {_extremes(judged)}{caution}",
        "next": _next(revision, help_needs),
    }


def _nothing(verdict: str, why: str) -> dict[str, str]:
    return {
        "verdict": verdict,
        "why": why,
        "next": "Nothing can be said of the questions; play the round with a class.",
    }


def _learners(people: Sequence[LearnerResult]) -> str:
    return say.count(len(people), "learner")


def _participation(questions: Sequence[Item], people: Sequence[LearnerResult]) -> str:
    answered, possible = sum(item.answered for item in questions), sum(item.there for item in questions)
    question_count = say.count(len(questions), "question")
    return f"{_learners(people)} gave {answered} of {possible} possible answers to {question_count}."


def _extremes(judged: Sequence[Item]) -> str:
    """A sentence about the hardest and the easiest question."""
    hard, easy = min(judged, key=lambda item: item.share or 0.0), max(judged, key=lambda item: item.share or 0.0)
    if hard.share == easy.share:
        return f"All of them were equally hard ({hard.right} of {hard.judged} right)."
    return (
        f"Hardest was question {hard.number} ({hard.right} of {hard.judged} right), easiest question {easy.number} "
        f"({easy.right} of {easy.judged})."
    )


def _next(revision: Sequence[RevisionItem], help_needs: Sequence[HelpNeed]) -> str:
    if revision:
        named = [f"{item.number} ({item.reasons[0].words.rstrip('.')})" for item in revision[:FIRST]]
        more = f", and {say.count(len(revision) - FIRST, 'more')}".removesuffix("s") if len(revision) > FIRST else ""
        advice = f"Go over {'question' if len(revision) == 1 else 'questions'} {'; '.join(named)}{more}."
    else:
        advice = "No question needs to be gone over again."
    if help_needs:
        advice += f" {say.capital(say.count(len(help_needs), 'learner'))} may need help."
    return advice


@dataclass(frozen=True)
class RoundFindings:
    results: Results
    verdict: Mapping[str, str]  # verdict, why, next
    items: tuple[Item, ...]
    revision: tuple[RevisionItem, ...]
    learners: tuple[LearnerResult, ...]
    help: tuple[HelpNeed, ...]
    comparison: RoundComparison | None  # with an earlier round

    def as_json(self) -> dict[str, Any]:
        """The document of `workshop quiz results --json`. Shares are 0..1, times are seconds."""
        results = self.results
        return {
            "round": results.round,
            "title": results.title,
            "deck": results.deck.deck,
            "began": results.began,
            **self.verdict,
            "players": len(results.players),
            "questions": [asdict(item) for item in self.items],
            "again": [asdict(item) for item in self.revision],
            "learners": [asdict(learner) for learner in self.learners],
            "help": [asdict(need) for need in self.help],
            "comparison": None if self.comparison is None else _comparison(self.comparison),
            "notes": list(results.notes),
        }


def find(results: Results, before: Results | None = None, *, anonymous: bool = False) -> RoundFindings:
    """Compute the findings about a round; `before` is an earlier round for a comparison."""
    comparison = None if before is None else compare(before, results)
    displayed = results.anonymous() if anonymous else results
    questions, people = items(displayed), learners(displayed)
    revision, help_needs = revision_items(displayed, questions), help_wanted(people)
    return RoundFindings(
        displayed,
        verdict(displayed, questions, people, revision, help_needs),
        questions,
        revision,
        people,
        help_needs,
        comparison,
    )


def _comparison(comparison: RoundComparison) -> dict[str, Any]:
    changes = [{**asdict(change), "change": change.change} for change in comparison.changes]
    return {**asdict(comparison), "changes": changes}
