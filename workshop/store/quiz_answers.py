"""Answers to quizzes in the store: one for each question and player, durable before it is confirmed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import bindparam, case, func, select
from sqlalchemy.dialects import postgresql, sqlite

from workshop.store.database import Database
from workshop.store.records import QuizAnswer, QuizStanding
from workshop.store.tables import quiz_answers, quiz_players, quiz_rounds


class QuizAnswers:
    database: Database

    def keep_answers(self, answers: Sequence[QuizAnswer]) -> list[bool]:
        """Keep answers in one transaction that survives a power cut. Returns for each whether it is the one that is
        kept; False: its player had answered the question before, and that answer stays."""
        dialect = sqlite if self.database.url.get_backend_name() == "sqlite" else postgresql
        insert = dialect.insert(quiz_answers).on_conflict_do_nothing().execution_options(preserve_rowcount=True)
        with self.database.writing(durable=True) as connection:
            return [connection.execute(insert, _row(answer)).rowcount == 1 for answer in answers]

    def answers(
        self, round_id: int | None = None, question: str | None = None, player_id: int | None = None
    ) -> list[QuizAnswer]:
        """Answers of a round, to one question, of one player; in the order in which they came."""
        columns = [column for column in quiz_answers.c if column.name not in ("round_id", "question", "player_id")]
        first = (quiz_answers.c.round_id, quiz_answers.c.question, quiz_answers.c.player_id, quiz_players.c.nickname)
        query = (
            select(*first, *columns)
            .join(quiz_players, quiz_players.c.id == quiz_answers.c.player_id)
            .order_by(quiz_answers.c.received_at, quiz_answers.c.player_id, quiz_answers.c.question)
        )
        for column, value in (("round_id", round_id), ("question", question), ("player_id", player_id)):
            if value is not None:
                query = query.where(quiz_answers.c[column] == value)
        with self.database.reading() as connection:
            return [QuizAnswer(**row._mapping) for row in connection.execute(query)]

    def quiz_standings(self) -> list[QuizStanding]:
        """Every player's progress in the rounds that they have answered, the newest attempt last. Removed players and
        first votes that were followed by a second vote are left out."""
        judged = case((quiz_answers.c.right.is_(None), 0.0), else_=quiz_answers.c.share)
        query = (
            select(
                quiz_rounds.c.id.label("round_id"),
                quiz_rounds.c.kind,
                quiz_rounds.c.name.label("deck"),
                quiz_players.c.id.label("player_id"),
                quiz_players.c.identity_id,
                quiz_players.c.nickname,
                func.count().label("answered"),
                func.coalesce(func.sum(judged), 0.0).label("share"),
                func.max(quiz_answers.c.received_at).label("last_at"),
            )
            .join(quiz_players, quiz_players.c.id == quiz_answers.c.player_id)
            .join(quiz_rounds, quiz_rounds.c.id == quiz_players.c.round_id)
            .where(quiz_players.c.removed.is_(False), quiz_answers.c.question.not_like("%#1"))
            .group_by(quiz_rounds.c.id, quiz_players.c.id)
            .order_by(quiz_players.c.id)
        )
        with self.database.reading() as connection:
            return [QuizStanding(**row._mapping) for row in connection.execute(query)]

    def judge_answers(
        self, round_id: int, question: str, judged: Mapping[int, tuple[float, bool | None, float]]
    ) -> None:
        """Keep what answers to a question are worth: share, right and points of each player's."""
        if not judged:
            return
        # Names of values other than those of columns, which an update keeps for itself.
        update = (
            quiz_answers.update()
            .where(
                quiz_answers.c.round_id == round_id,
                quiz_answers.c.question == question,
                quiz_answers.c.player_id == bindparam("whose"),
            )
            .values(share=bindparam("its_share"), right=bindparam("is_right"), points=bindparam("its_points"))
        )
        rows: list[dict[str, Any]] = [
            {"whose": player, "its_share": share, "is_right": right, "its_points": points}
            for player, (share, right, points) in judged.items()
        ]
        with self.database.writing() as connection:
            connection.execute(update, rows)


def _row(answer: QuizAnswer) -> dict[str, Any]:
    return {column.name: getattr(answer, column.name) for column in quiz_answers.c}
