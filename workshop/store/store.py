"""The store: sessions, runs, studies, events, artifacts, identities, guesses, quizzes; one SQLite file or a PostgreSQL
database.

Everybody reads it, from whatever thread or process; every method is a short transaction of its own.
"""

from __future__ import annotations

from types import TracebackType
from typing import Literal, get_args

from workshop.core import config
from workshop.store.artifacts import Artifacts
from workshop.store.database import Database
from workshop.store.events import Events
from workshop.store.identities import Identities
from workshop.store.progress import Guesses, Progresses
from workshop.store.quizzes import QuizAnswers, Quizzes
from workshop.store.runs import Runs
from workshop.store.sessions import Sessions
from workshop.store.studies import Studies

Author = Literal["submitter", "instructor"]  # of a note on a run


class Store(Sessions, Runs, Events, Artifacts, Identities, Studies, Guesses, Quizzes, QuizAnswers, Progresses):
    """Made by `Store.open`; close it, or use it in a `with`."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @classmethod
    def open(cls, url: str | None = None) -> Store:
        """Open the store at a SQLAlchemy URL (default: the one of `core.config`), making it where there is none.

        Raises BadInput for a place that can't be written, a network file system under a SQLite file, a damaged file,
        a server that doesn't answer, and a store of another version.
        """
        return cls(Database(url or config.database_url()))

    def notes(self, run_id: int) -> dict[Author, str]:
        """The notes on a run by their authors, without empty ones."""
        texts = {author: self.setting(f"run_note/{run_id}/{author}") for author in get_args(Author)}
        return {author: text for author, text in texts.items() if text}

    def keep_note(self, run_id: int, author: Author, text: str) -> None:
        """Store a note in place of the author's earlier one."""
        self.set_setting(f"run_note/{run_id}/{author}", text)

    def close(self) -> None:
        self.database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()
