"""Statistics of each question of a round: difficulty, discrimination, times, distribution of answers, and remarks;
with the statistics that they need."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from workshop.core import words as say
from workshop.quiz.results.record import Results, RoundAnswer
from workshop.quiz.types.rows import AnswerChoice, plain

CONFIDENCE = 0.95
_Z = statistics.NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
SAME = 1e-9  # standard deviation below which numbers count as equal
LEAST = 6  # learners who answered; a third of fewer learners is one person
KELLEY = 40  # from this number of learners on, 27 % are enough people
# The share that separates two groups best (Kelley, The selection of upper and lower groups for the validation of
# test items, Journal of Educational Psychology 30, 1939).
SHARE = 0.27


def wilson(right: int, total: int) -> tuple[float, float] | None:
    """The 95 % interval of a share (Wilson, Probable inference, the law of succession, and statistical inference,
    Journal of the American Statistical Association 22, 1927). It holds for small numbers, too, and stays in 0..1."""
    if total == 0:
        return None
    share, square = right / total, _Z * _Z
    middle = (share + square / (2 * total)) / (1 + square / total)
    half = _Z / (1 + square / total) * math.sqrt(share * (1 - share) / total + square / (4 * total * total))
    # With none or all right, the interval reaches 0 or 1 exactly; the formula alone has a rounding error.
    return (0.0 if right == 0 else middle - half, 1.0 if right == total else middle + half)


@dataclass(frozen=True)
class Quartiles:
    low: float
    median: float
    high: float


def quartiles(values: Sequence[float]) -> Quartiles | None:
    """Median and quartiles, interpolated linearly (type 7 of Hyndman and Fan, Sample quantiles in statistical packages,
    The American Statistician 50(4), 1996; the default of NumPy)."""
    if not values:
        return None
    if len(values) == 1:
        return Quartiles(values[0], values[0], values[0])
    return Quartiles(*statistics.quantiles(values, n=4, method="inclusive"))


def correlation(marks: Sequence[float], scores: Sequence[float]) -> float | None:
    """Pearson's correlation; it is point-biserial if marks are only 0 and 1. None for fewer than three pairs, and if
    all marks or all scores are equal."""
    if len(marks) < 3 or constant(marks) or constant(scores):
        return None
    return max(-1.0, min(1.0, statistics.correlation(marks, scores)))


def constant(values: Sequence[float]) -> bool:
    return statistics.pstdev(values) < SAME


def sign_test(gained: int, lost: int) -> float:
    """The two-sided p-value of the exact McNemar test (McNemar, Note on the sampling error of the difference between
    correlated proportions, Psychometrika 12, 1947)."""
    changed = gained + lost
    tail: float = sum(math.comb(changed, number) for number in range(min(gained, lost) + 1)) / 2.0**changed
    return min(1.0, 2 * tail)


@dataclass(frozen=True)
class Groups:
    """Players of the upper and the lower group. If both are empty, `words` says why."""

    upper: frozenset[int]
    lower: frozenset[int]
    words: str

    def __bool__(self) -> bool:
        return bool(self.upper)


def other_scores(results: Results, question: str) -> Mapping[int, float]:
    """Each player's score on the other questions, 0..1: the share of the possible marks, without a speed bonus.
    Unanswered questions give no marks if the player was present. Players without any other question are omitted."""
    others = [other for other in results.questions if other.id != question and results.counts(other.id)]
    worth = {other.id: results.deck.points_of(other) for other in others}
    present = {other.id: results.present(other.id) for other in others}
    scores = {}
    for player in results.players:
        answers = results.answers_by(player.id)
        possible = [id for id in worth if player.id in present[id]]
        if most := math.fsum(worth[id] for id in possible):
            got = (worth[id] * (answers[id].share or 0.0) for id in possible if id in answers)
            scores[player.id] = math.fsum(got) / most
    return scores


def groups(scores: Mapping[int, float]) -> Groups:
    """Divide the players with these scores. Everybody with the same score as the last one of a group belongs to it."""
    nobody: frozenset[int] = frozenset()
    if len(scores) < LEAST:
        return Groups(nobody, nobody, f"Fewer than {LEAST} answered, so that they aren't divided into groups.")
    share, name = (SHARE, "27 %") if len(scores) >= KELLEY else (1 / 3, "third")
    size = max(round(share * len(scores)), 1)
    ordered = sorted(scores.values())
    low, high = ordered[size - 1], ordered[-size]
    if high - low < 1e-9:
        return Groups(nobody, nobody, "Too many did equally well on the other questions to be divided into groups.")
    upper = frozenset(player for player, score in scores.items() if score >= high - 1e-9)
    lower = frozenset(player for player, score in scores.items() if score <= low + 1e-9)
    return Groups(
        upper,
        lower,
        f"Upper and lower {name} by the score on the other questions: {len(upper)} and {len(lower)} learners.",
    )


@dataclass(frozen=True)
class Gain:
    """Two votes on a question. Shares are of the graded answers, 0..1; changes are of learners who voted twice."""

    before: float  # share of right answers in the first vote
    after: float  # in the second vote
    improved: int  # learners whose first answer was wrong and whose second answer is right
    worsened: int
    both: int  # learners who voted twice

    @property
    def normalised(self) -> float | None:
        """The share of the possible gain that was reached, (after - before) / (1 - before); None where all were right
        before (Hake, Interactive-engagement versus traditional methods, American Journal of Physics 66, 1998)."""
        return None if self.before == 1 else (self.after - self.before) / (1 - self.before)

    @property
    def words(self) -> str:
        normalised = "" if self.normalised is None else f", a normalised gain of {self.normalised:.2f} (Hake 1998)"
        return (
            f"First vote {say.percent(self.before)} right, second vote {say.percent(self.after)} right{normalised}. Of "
            f"{say.count(self.both, 'learner')} who voted twice, {self.improved} went from wrong to right and "
            f"{self.worsened} from right to wrong."
        )


def gain(first: Sequence[RoundAnswer], second: Sequence[RoundAnswer]) -> Gain | None:
    """The gain from the first to the second vote; None where a vote has no graded answer."""
    before = {answer.player: bool(answer.right) for answer in first if answer.right is not None}
    after = {answer.player: bool(answer.right) for answer in second if answer.right is not None}
    if not before or not after:
        return None
    both = before.keys() & after.keys()
    return Gain(
        sum(before.values()) / len(before),
        sum(after.values()) / len(after),
        sum(after[player] and not before[player] for player in both),
        sum(before[player] and not after[player] for player in both),
        len(both),
    )


@dataclass(frozen=True)
class Discrimination:
    """How well a question separates learners with high and low scores on the other questions, -1..1."""

    value: float | None  # None: not defined; `words` says why
    of: int  # number of answers
    words: str


@dataclass(frozen=True)
class Item:
    """One question. Shares are of the graded answers; missing answers don't count as wrong."""

    number: int  # its place in the deck, from 1
    id: str
    type: str
    text: str
    tags: tuple[str, ...]
    worth: float  # points
    there: int  # number of present players
    answered: int
    judged: int
    right: int
    share: float | None  # of right answers; None without graded answers
    interval: tuple[float, float] | None  # 95 % interval of that share
    mark: float | None  # mean mark, 0..1: partly right answers count in part
    points: float | None  # mean
    seconds: Quartiles | None
    discrimination: Discrimination
    groups: str  # describes the groups of the class, or says why there are none
    chosen: tuple[AnswerChoice, ...]
    remarks: tuple[str, ...]
    gain: Gain | None  # None: the class voted once
    first: tuple[AnswerChoice, ...]  # as `chosen`, of the first vote


def items(results: Results) -> tuple[Item, ...]:
    places = {question.id: number for number, question in enumerate(results.deck.questions, 1)}
    return tuple(_item(results, places[id], id) for id in results.question_ids)


def _item(results: Results, number: int, id: str) -> Item:
    question, answers, judged = results.deck.question(id), results.answers_to(id), results.judged(id)
    before = results.first_vote(id)
    right = sum(bool(answer.right) for answer in judged)
    scores = other_scores(results, id)
    answered = {answer.player for answer in answers}
    divided = groups({player: score for player, score in scores.items() if player in answered})
    rows = tuple(question.results(results, divided))
    points = [answer.points for answer in judged if answer.points is not None]
    times = [answer.seconds for answer in answers if answer.seconds is not None]
    return Item(
        number=number,
        id=id,
        type=question.type,
        text=plain(results, question, question.text),
        tags=question.tags,
        worth=results.deck.points_of(question),
        there=len(results.present(id)),
        answered=len(answers),
        judged=len(judged),
        right=right,
        share=right / len(judged) if judged else None,
        interval=wilson(right, len(judged)),
        mark=fmean(answer.share or 0.0 for answer in judged) if judged else None,
        points=fmean(points) if points else None,
        seconds=quartiles(times),
        discrimination=_discrimination(question.marked, judged, scores),
        groups=divided.words,
        chosen=rows,
        remarks=tuple(question.remarks(results, rows, divided)) if answers else (),
        gain=gain(before.judged(id), judged) if before else None,
        first=tuple(question.results(before, divided)) if before else (),
    )


def _discrimination(marked: bool, judged: tuple[RoundAnswer, ...], scores: Mapping[int, float]) -> Discrimination:
    """The corrected item-total correlation, between the mark and the score on the other questions (Henrysson,
    Correction of item-total correlations in item analysis, Psychometrika 28, 1963). It is point-biserial if marks are
    only 0 and 1, otherwise Pearson's correlation."""
    pairs = [(answer.share or 0.0, scores[answer.player]) for answer in judged if answer.player in scores]
    marks, others = [mark for mark, _ in pairs], [score for _, score in pairs]
    value = correlation(marks, others)
    if value is not None:
        return Discrimination(value, len(pairs), _meaning(value, len(pairs)))
    if not marked:
        why = "a poll has no right answer"
    elif not judged:
        why = "no answer has been judged"
    elif not pairs:
        why = "there is no other question with marks"
    elif len(pairs) < 3:
        why = f"it needs at least three answers, and there {say.verb(len(pairs))} {len(pairs)}"
    elif constant(marks):
        why = "all got the same mark"
    else:
        why = "all did equally well on the other questions"
    return Discrimination(None, len(pairs), f"Not defined: {why}.")


def _meaning(value: float, answers: int) -> str:
    """Explain a discrimination. A question is usually called good from 0.4 on, and poor below 0.2 (Ebel and Frisbie,
    Essentials of educational measurement, 1991)."""
    chance = 1.96 / math.sqrt(answers - 1)  # two standard errors of a correlation of 0
    if value <= -0.2:
        finding = "Those who did well on the other questions got it wrong more often"
    elif value < 0.2:
        finding = "It hardly tells those apart who did well on the other questions"
    elif value < 0.4:
        finding = "Those who did well on the other questions got it right somewhat more often"
    else:
        finding = "Those who did well on the other questions got it right much more often"
    if chance >= 1:
        return f"{finding}; with {say.count(answers, 'answer')} this says next to nothing."
    if abs(value) < chance:
        return f"{finding}; with {answers} answers chance alone does up to {chance:.2f}."
    return f"{finding}."
