"""Quizzes in the store: rounds, who takes part in them, and one answer for each question and player, which is durable
before it is confirmed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import bindparam, case, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from workshop.core.errors import BadInput, WorkshopError
from workshop.store.database import Database, inserted
from workshop.store.identities import numbered
from workshop.store.records import QuizAnswer, QuizPlayer, QuizRound, QuizStanding
from workshop.store.sessions import refuse
from workshop.store.tables import identities, quiz_answers, quiz_players, quiz_rounds


class Quizzes:
    """Rounds and players. A round is never removed; a player is, where somebody wants their data gone."""

    database: Database

    def add_round(
        self,
        kind: str,
        deck: Mapping[str, Any],
        *,
        code: str | None = None,
        seed: str = "",
        deck_folder: str = "",
        session: str = "",
        settings: Mapping[str, Any] | None = None,
        state: Mapping[str, Any] | None = None,
    ) -> QuizRound:
        """Begin a round of a deck (as JSON, whole). Raises BadInput where another round that goes on has this code."""
        values = {
            "kind": kind,
            "code": code,
            "name": deck["deck"],
            "title": deck["title"],
            "deck": dict(deck),
            "deck_folder": deck_folder,
            "session": session,
            "seed": seed,
            "settings": dict(settings or {}),
            "state": dict(state or {}),
            "created_at": time.time(),
        }
        try:
            with self.database.writing() as connection:
                if kind == "live":
                    refuse(connection)
                round_id = inserted(connection, quiz_rounds.insert().values(**values))
        except IntegrityError:
            raise BadInput(f"A round with code {code} goes on already; another one needs another code.") from None
        return self.round(round_id)

    def round(self, round_id: int) -> QuizRound:
        """The round with that id. Raises BadInput where there is none."""
        row = self.database.by_id(select(quiz_rounds).where(quiz_rounds.c.id == bindparam("wanted")), round_id)
        if row is None:
            raise BadInput(f"There is no quiz round {round_id}; `workshop quiz rounds` shows those there are.")
        return QuizRound(**row._mapping)

    def rounds(self, kind: str | None = None, name: str | None = None, *, going_on: bool = False) -> list[QuizRound]:
        """Rounds, the newest first, filtered by kind, by deck name, or to unfinished ones."""
        query = select(quiz_rounds).order_by(quiz_rounds.c.id.desc())
        filters = {"kind": kind, "name": name}
        query = query.filter_by(**{column: value for column, value in filters.items() if value is not None})
        if going_on:
            query = query.where(quiz_rounds.c.ended_at.is_(None))
        with self.database.reading() as connection:
            return [QuizRound(**row._mapping) for row in connection.execute(query)]

    def round_by_code(self, code: str) -> QuizRound | None:
        """The round that goes on and is joined by this code; None where there is none."""
        query = select(quiz_rounds).where(quiz_rounds.c.code == code, quiz_rounds.c.ended_at.is_(None))
        with self.database.reading() as connection:
            row = connection.execute(query).first()
        return QuizRound(**row._mapping) if row is not None else None

    def set_round_state(
        self,
        round_id: int,
        state: Mapping[str, Any],
        *,
        ended: bool = False,
        former: int | None = None,
        renamed: tuple[str, str] | None = None,
    ) -> None:
        """Store the progress of a round; `ended` frees its code, and `renamed` keeps the answers to a question under
        another name. Raises WorkshopError where the stored state has another version than `former`."""
        values = {"state": dict(state), **({"ended_at": time.time()} if ended else {})}
        this = quiz_rounds.c.id == round_id
        with self.database.writing(durable=True) as connection:
            stored = connection.execute(select(quiz_rounds.c.state).where(this)).scalar_one()
            if former is not None and stored["version"] != former:
                raise WorkshopError(f"Round {round_id} has gone on meanwhile, on another page; look at it again.")
            connection.execute(quiz_rounds.update().where(this).values(**values))
            if renamed is not None:
                to_question = quiz_answers.update().filter_by(round_id=round_id, question=renamed[0])
                connection.execute(to_question.values(question=renamed[1]))

    def add_player(
        self, round_id: int, identity_id: int | None, nickname: str, attempt: int = 1, *, most: int | None = None
    ) -> QuizPlayer:
        """Add a player to a round. A known player stays the same, also after a removal; a nickname that is in use gets
        a number. Raises BadInput for a new player where the round has `most` players who weren't removed."""
        whose = {"round_id": round_id, "identity_id": identity_id, "attempt": attempt}
        this = select(quiz_players).filter_by(**whose)
        with self.database.writing() as connection:
            player = connection.execute(this).first() if identity_id is not None else None
            if player is None:
                here = quiz_players.c.round_id == round_id
                present = select(func.count()).select_from(quiz_players).where(here, quiz_players.c.removed.is_(False))
                if most is not None and (connection.scalar(present) or 0) >= most:
                    raise BadInput(
                        f"This round is full: {most:,} players are in it, and it takes no more; ask its host to remove "
                        "names that are nobody's, then join again."
                    )
                name = numbered(connection, nickname, quiz_players.c.nickname, here)
                values = {**whose, "nickname": name, "joined_at": time.time(), "removed": False}
                player_id = inserted(connection, quiz_players.insert().values(**values))
                player = connection.execute(select(quiz_players).where(quiz_players.c.id == player_id)).one()
        return QuizPlayer(**player._mapping)

    def players(self, round_id: int, identity_id: int | None = None) -> list[QuizPlayer]:
        """The players of a round, or an identity's attempts in it, in the order of their arrival."""
        query = select(quiz_players).where(quiz_players.c.round_id == round_id).order_by(quiz_players.c.id)
        if identity_id is not None:
            query = query.where(quiz_players.c.identity_id == identity_id)
        with self.database.reading() as connection:
            return [QuizPlayer(**row._mapping) for row in connection.execute(query)]

    def player_ids(self, round_id: int) -> set[int]:
        """The ids of all players who came to a round, unless their data were removed."""
        query = select(quiz_players.c.id).where(quiz_players.c.round_id == round_id)
        with self.database.reading() as connection:
            return set(connection.scalars(query))

    def remove_players(self, player_ids: Sequence[int]) -> None:
        """Mark players of a round as removed: their answers stay, but don't count, and they can't come back."""
        with self.database.writing() as connection:
            connection.execute(quiz_players.update().where(quiz_players.c.id.in_(player_ids)).values(removed=True))

    def forget_player(self, player_id: int) -> int:
        """Delete a person's answers and name from a round, with all attempts. Return the number of answers. The
        identity of somebody who came only for quizzes loses its name when no other round has them."""
        with self.database.writing(durable=True) as connection:
            player = connection.execute(select(quiz_players).where(quiz_players.c.id == player_id)).one()
            same_person = quiz_players.c.identity_id.in_([player.identity_id])  # not true of None
            attempts = (quiz_players.c.id == player_id) | (same_person & (quiz_players.c.round_id == player.round_id))
            player_ids = list(connection.scalars(select(quiz_players.c.id).where(attempts)))
            gone = connection.execute(delete(quiz_answers).where(quiz_answers.c.player_id.in_(player_ids))).rowcount
            connection.execute(delete(quiz_players).where(quiz_players.c.id.in_(player_ids)))
            nobody = (identities.c.role == "player") & ~select(quiz_players.c.id).where(same_person).exists()
            here = identities.c.id == player.identity_id
            connection.execute(identities.update().where(here & nobody).values(nickname=""))
        return gone


class QuizAnswers:
    database: Database

    def keep_answers(self, answers: Sequence[QuizAnswer]) -> list[bool]:
        """Keep answers in one transaction that survives a power cut. Returns for each whether it is the one that is
        kept; False: its player had answered the question before, and that answer stays."""
        dialect = sqlite if self.database.url.get_backend_name() == "sqlite" else postgresql
        insert = dialect.insert(quiz_answers).on_conflict_do_nothing().execution_options(preserve_rowcount=True)
        with self.database.writing(durable=True) as connection:
            rows = [{column.name: getattr(answer, column.name) for column in quiz_answers.c} for answer in answers]
            return [connection.execute(insert, row).rowcount == 1 for row in rows]

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
        for column, value in {"round_id": round_id, "question": question, "player_id": player_id}.items():
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
            .filter_by(round_id=round_id, question=question)
            .where(quiz_answers.c.player_id == bindparam("whose"))
            .values(share=bindparam("its_share"), right=bindparam("is_right"), points=bindparam("its_points"))
        )
        rows: list[dict[str, Any]] = [
            {"whose": player, "its_share": share, "is_right": right, "its_points": points}
            for player, (share, right, points) in judged.items()
        ]
        with self.database.writing() as connection:
            connection.execute(update, rows)
