"""The record of a round, read from the store: its deck, its players and their answers. Removed players and skipped
questions don't count. In self-study only the first attempt counts, because it shows the right answers. Notes in the
results say what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from workshop.core import words
from workshop.core.errors import bad_input
from workshop.quiz.deck import Deck, ask, attempt_seed
from workshop.quiz.live import RoundState, first_vote
from workshop.quiz.types import DrawnQuestion, Question
from workshop.quiz.types.number import Number, value_of
from workshop.store.records import QuizAnswer, QuizPlayer, QuizRound
from workshop.store.store import Store


@dataclass(frozen=True)
class Player:
    """A player who took part and wasn't removed."""

    id: int
    nickname: str


@dataclass(frozen=True)
class RoundAnswer:
    """One answer, with its mark if it has one."""

    question: str
    player: int
    answer: Any  # the stored form, see `workshop.quiz.types.base.Question`
    seconds: float | None = None  # since the question was opened
    share: float | None = None  # of the question's marks; None: a poll, or not graded yet
    right: bool | None = None
    points: float | None = None  # including a speed bonus
    near: int | None = None  # index of the misconception in the question's `near`


@dataclass(frozen=True)
class Results:
    """The data of a round for statistics. There is at most one answer for each player and question of the record."""

    round: int
    title: str
    deck: Deck
    question_ids: tuple[str, ...]  # the asked questions, in their order
    players: tuple[Player, ...]
    answers: tuple[RoundAnswer, ...]
    began: float = 0.0
    absent: Mapping[str, frozenset[int]] = field(default_factory=dict)  # players who joined after a question was over
    numbers: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # of questions with equal numbers for all
    truths: Mapping[str, float] = field(default_factory=dict)  # right numbers that were the same for all
    notes: tuple[str, ...] = ()  # sentences about what doesn't count and why
    first_votes: tuple[RoundAnswer, ...] = ()  # of questions with a second vote, which is in `answers`

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        return tuple(self.deck.question(id) for id in self.question_ids)

    @cached_property
    def answers_to(self) -> Mapping[str, tuple[RoundAnswer, ...]]:
        """The answers to each question."""
        return {id: tuple(answer for answer in self.answers if answer.question == id) for id in self.question_ids}

    @cached_property
    def judged(self) -> Mapping[str, tuple[RoundAnswer, ...]]:
        """The graded answers to each question."""
        graded = [answer for answer in self.answers if answer.share is not None]
        return {id: tuple(answer for answer in graded if answer.question == id) for id in self.question_ids}

    @cached_property
    def answers_by(self) -> Mapping[int, Mapping[str, RoundAnswer]]:
        """Each player's answers, by question."""
        by_player: dict[int, dict[str, RoundAnswer]] = {player.id: {} for player in self.players}
        for answer in self.answers:
            by_player[answer.player][answer.question] = answer
        return by_player

    @cached_property
    def present(self) -> Mapping[str, frozenset[int]]:
        """The players who were present while a question was open, or answered it."""
        everybody = frozenset(player.id for player in self.players)
        return {
            id: everybody - (self.absent.get(id, frozenset()) - {answer.player for answer in answers})
            for id, answers in self.answers_to.items()
        }

    def first_vote(self, question: str) -> Results | None:
        """These results with the first vote on a question in place of the second one; None where the class voted
        once."""
        first = [answer for answer in self.first_votes if answer.question == question]
        if not first:
            return None
        return replace(self, answers=(*(answer for answer in self.answers if answer.question != question), *first))

    def counts(self, question: str) -> bool:
        """Whether a question has marks: polls, and predictions that were never measured, have none."""
        deck_question = self.deck.question(question)
        return bool(self.judged[question]) or (deck_question.marked and not deck_question.measured)

    def anonymous(self) -> Results:
        """The same results with nicknames learner-1, learner-2, …"""
        players = tuple(replace(player, nickname=f"learner-{number}") for number, player in enumerate(self.players, 1))
        return replace(self, players=players)


WAS = ("was", "were")


def read(store: Store, round_id: int) -> Results:
    """The results of a round. Raises BadInput if there is no such round."""
    return make(store.round(round_id), store.players(round_id), store.answers(round_id))


def make(quiz_round: QuizRound, players: Sequence[QuizPlayer], answers: Sequence[QuizAnswer]) -> Results:
    """The results of a round with these players and answers. Raises BadInput if its deck can't be read any more."""
    try:
        deck, live = Deck.model_validate(quiz_round.deck), quiz_round.kind == "live"
    except ValidationError as error:
        raise bad_input(error, f"The deck of round {quiz_round.id} is of another version") from None
    state = RoundState.from_json(quiz_round.state) if live else None
    question_ids = tuple(question.id for question in deck.questions)
    if state is not None:
        question_ids = tuple(id for id in question_ids[: state.position + 1] if id not in state.skipped)
    counted = {player.id: player for player in players if not player.removed and player.attempt == 1}
    counted_answers = [answer for answer in answers if answer.player_id in counted and answer.question in question_ids]
    first_votes = {first_vote(id): id for id in question_ids}
    variants = {question.id: ask(deck, question, quiz_round.seed) for question in map(deck.question, question_ids)}
    # In self-study, everybody has other numbers; only questions without numbers are the same for all.
    shared = {id: variant for id, variant in variants.items() if live or not variant.question.numbers}
    return Results(
        round=quiz_round.id,
        title=quiz_round.title,
        deck=deck,
        question_ids=question_ids,
        players=tuple(Player(player.id, player.nickname) for player in counted.values()),
        answers=tuple(
            _answer(
                answer,
                shared.get(answer.question)
                or ask(deck, deck.question(answer.question), attempt_seed(quiz_round, counted[answer.player_id])),
            )
            for answer in counted_answers
        ),
        first_votes=tuple(
            _answer(replace(answer, question=first_votes[answer.question]), shared[first_votes[answer.question]])
            for answer in answers
            if answer.player_id in counted and answer.question in first_votes
        ),
        began=quiz_round.created_at,
        absent=_absent(question_ids, counted_answers, list(counted.values())) if live else {},
        numbers={id: variant.numbers for id, variant in shared.items() if variant.numbers},
        truths=_truths(shared, state),
        notes=tuple(_notes(quiz_round, deck, players, state)),
    )


def _answer(record: QuizAnswer, variant: DrawnQuestion) -> RoundAnswer:
    """An answer with its mark, and the number of the deck's misconception that it shows."""
    question = variant.question
    marked = (record.share, record.right, record.points) if question.marked else (None, None, None)
    nears = [] if record.right else getattr(question, "near", ())
    near = next((place for place, near in enumerate(nears) if question.hits(variant, near, record.answer)), None)
    return RoundAnswer(record.question, record.player_id, record.answer, record.seconds, *marked, near)


def _absent(
    question_ids: Sequence[str], answers: Sequence[QuizAnswer], players: Sequence[QuizPlayer]
) -> Mapping[str, frozenset[int]]:
    """For each question the players who joined after its last answer, or the last answer to earlier questions."""
    absent, over = {}, 0.0
    for id in question_ids:
        over = max([over, *(answer.received_at for answer in answers if answer.question == id)])
        if over:
            absent[id] = frozenset(player.id for player in players if player.joined_at > over)
    return absent


def _truths(shared: Mapping[str, DrawnQuestion], state: RoundState | None) -> dict[str, float]:
    """The right numbers of the questions that were the same for everybody."""
    measured = {} if state is None else state.truths
    computed = {
        id: value_of(variant.question.answer, variant.numbers)
        for id, variant in shared.items()
        if isinstance(variant.question, Number)
    }
    return computed | {id: float(truth["value"]) for id, truth in measured.items() if id in shared}


def _notes(quiz_round: QuizRound, deck: Deck, players: Sequence[QuizPlayer], state: RoundState | None) -> Iterable[str]:
    if state is not None and state.phase != "ended":
        yield "The round is still going on, so that figures will change."
    if removed := sum(player.removed for player in players):
        yield f"{words.count(removed, 'player')} {words.verb(removed, *WAS)} removed by the instructor and not counted."
    if later := sum(player.attempt > 1 and not player.removed for player in players):
        sentence = f"{words.count(later, 'later attempt')} {words.verb(later, *WAS)} not counted"
        yield f"{sentence}: right answers had been shown before."
    if state is not None and state.skipped:
        places = [number for number, question in enumerate(deck.questions, 1) if question.id in state.skipped]
        questions = words.capital(words.numbered("question", places))
        yield f"{questions} {words.verb(len(places), *WAS)} skipped and not counted."
    twice = set() if state is None else set(state.voted_twice) - set(state.skipped)
    if twice:
        places = [number for number, question in enumerate(deck.questions, 1) if question.id in twice]
        sentence = f"{words.capital(words.numbered('question', places))} had two votes"
        yield f"{sentence}; marks and points are those of the second vote."
    if quiz_round.settings.get("speed_bonus"):
        yield "Points of learners include a bonus for speed; marks and discrimination don't."
